import { z } from 'zod';
import { type Merged, type MergeOptions, mergeDraft, replaceByDraft } from '../drafts/merge.ts';
import type { Resolution } from '../drafts/merge-file.ts';
import { draftRecords, mergedFiles } from '../drafts/records.ts';
import { ServiceError } from '../errors/errors.ts';
import { departureOf } from '../http/access-log.ts';
import { MAX_TEXT_BYTES } from '../tenants/settings.ts';
import { noteAudit } from './audit.ts';
import { administratorOf } from './authentication.ts';
import { adminRoutes } from './context.ts';
import { draftClosed, draftParams, mergedSchema, noSuchDraft, review } from './draft-schemas.ts';
import { text, versionId } from './fields.ts';
import { archived, errorResponses, json, noSuchTenant, overQuota } from './responses.ts';

const resolution = z
  .union([
    z.strictObject({ memory_id: versionId, take: z.enum(['draft', 'original']) }),
    z.strictObject({ memory_id: versionId, text: text(MAX_TEXT_BYTES) }),
  ])
  .meta({
    id: 'DraftResolution',
    description:
      "How a file is settled: with the draft's version, which also settles what is `blocked_by` unless that is settled separately; with the original's version; or with a text.",
  });

const refusals = [
  noSuchTenant,
  noSuchDraft,
  draftClosed,
  archived,
  overQuota('merge'),
  new ServiceError('own_draft'),
  new ServiceError('draft_not_reviewed', ['/memories/notes.md']),
  new ServiceError('file_too_large', '/memories/notes.md', 1048576),
];

/** Merging a draft, or replacing the memory by it. */
export const draftMergeRoutes = adminRoutes((app, { config, database, merges, heavyWork }) => {
  const optionsOf = (
    request: Parameters<typeof administratorOf>[0],
    given: { review: string },
  ): MergeOptions => ({
    config,
    threads: merges,
    approver: administratorOf(request).actor,
    requestId: request.id,
    review: given.review,
  });
  const respond = async (request: Parameters<typeof noteAudit>[0], merged: Merged) => {
    const files = await mergedFiles(merged.changes);
    noteAudit(request, { details: { draft: merged.draft.id, files: files.length } });
    return {
      draft: (await draftRecords(database.query, config, [merged.draft]))[0],
      merged_at: merged.mergedAt,
      files,
      directories_made: merged.made,
      directories_removed: merged.removed,
    };
  };

  app.post(
    '/tenants/:tenant/drafts/:draft/merge',
    {
      schema: {
        operationId: 'mergeDraft',
        summary: 'Merge a draft that was reviewed, and close it',
        description:
          'All or nothing, as a single change in the history, in which each version names who proposed it, the draft, and you. A key cannot merge a draft in which it changed files.',
        tags: ['drafts'],
        params: draftParams,
        body: z.strictObject({
          review,
          resolutions: z.array(resolution).max(1000).default([]).meta({
            description: 'One for each conflict, and for any other file that should not be merged as it is.',
          }),
        }),
        response: {
          200: json('What changed.', mergedSchema),
          ...errorResponses('takes JSON', [
            ...refusals,
            new ServiceError('draft_conflicts', ['/memories/notes.md']),
            new ServiceError('draft_blocked_by', '/memories/plan', '/memories/plan/a.md', null),
            new ServiceError('draft_text_blocked_by', '/memories/plan', '/memories/plan/a.md'),
            new ServiceError('draft_file_unknown', '0b9ee7d4-2f6e-4e5f-8f5e-0c8f6a1d9b52'),
            new ServiceError('draft_text_for_deletion', '/memories/notes.md'),
            new ServiceError('content_has_nul', '/memories/notes.md'),
            new ServiceError('secrets_in_content', ['AWS access key']),
          ]),
        },
      },
    },
    async (request, reply) => {
      const { tenant, draft } = request.params;
      const resolutions = new Map<string, Resolution>(
        request.body.resolutions.map((each) => [
          each.memory_id,
          'take' in each ? each.take : { text: each.text },
        ]),
      );
      noteAudit(request, { details: { draft } });
      const merged = await heavyWork.run(tenant, departureOf(request, reply), () =>
        mergeDraft(database, { tenant, draft }, resolutions, optionsOf(request, request.body)),
      );
      return respond(request, merged);
    },
  );

  app.post(
    '/tenants/:tenant/drafts/:draft/replace',
    {
      schema: {
        operationId: 'replaceByDraft',
        summary: 'Make the memory identical to a draft, and close the draft',
        description:
          'Changes made in the original since the base are undone, too. If anything at all has changed on either side since the review, nothing changes.',
        tags: ['drafts'],
        params: draftParams,
        body: z.strictObject({ review }),
        response: {
          200: json('What changed.', mergedSchema),
          ...errorResponses('takes JSON', refusals),
        },
      },
    },
    async (request, reply) => {
      const { tenant, draft } = request.params;
      noteAudit(request, { details: { draft } });
      const merged = await heavyWork.run(tenant, departureOf(request, reply), () =>
        replaceByDraft(database, { tenant, draft }, optionsOf(request, request.body)),
      );
      return respond(request, merged);
    },
  );
});
