import { z } from 'zod';
import { archived, noSuchTenant, overQuota } from '../../../core/admin/admin-errors.ts';
import { type AdminCall, defineOperation } from '../../../core/admin/admin-operation.ts';
import { text, versionId } from '../../../core/admin/fields.ts';
import { ServiceError } from '../../../core/errors/errors.ts';
import type { Resolution } from '../../../core/history/merge-file.ts';
import { MAX_TEXT_BYTES } from '../../../core/tenants/settings.ts';
import { type Merged, type MergeOptions, mergeDraft, replaceByDraft } from '../merge.ts';
import { draftRecord, mergedFiles } from '../records.ts';
import { draftClosed, draftParams, mergedSchema, noSuchDraft, review } from './draft-schemas.ts';

const resolution = z
  .union([
    z.strictObject({ memory_id: versionId, take: z.enum(['draft', 'original']) }),
    z.strictObject({ memory_id: versionId, text: text(MAX_TEXT_BYTES) }),
  ])
  .meta({
    id: 'DraftResolution',
    description:
      "The resolution for a file: the draft's version, the original's version, or a text. The " +
      "draft's version also resolves files under `blocked_by` that have no separate resolution.",
  });

const rejections = [
  noSuchTenant,
  noSuchDraft,
  draftClosed,
  archived,
  overQuota('merge'),
  new ServiceError('own_draft'),
  new ServiceError('draft_not_reviewed', ['/memories/notes.md']),
  new ServiceError('file_too_large', '/memories/notes.md', 1048576),
];

type MergeCall = AdminCall<z.output<typeof draftParams>, unknown, { review: string }>;

async function optionsFor(call: MergeCall): Promise<MergeOptions> {
  const { config, services, merges, tenant, administrator, origin, body } = call;
  return {
    config,
    threads: merges,
    approver: administrator.actor,
    requestId: origin.requestId,
    review: body.review,
    keptOut: await (await services()).keptOut.textsFor(tenant),
  };
}

async function mergedRecord({ config, database, note }: MergeCall, merged: Merged) {
  const files = await mergedFiles(merged.changes);
  note({ details: { draft: merged.draft.id, files: files.length } });
  return {
    draft: await draftRecord(database.query, config, merged.draft),
    merged_at: merged.mergedAt,
    files,
    directories_made: merged.made,
    directories_removed: merged.removed,
  };
}

export const mergeTenantDraft = defineOperation({
  id: 'mergeDraft',
  method: 'POST',
  url: '/tenants/:tenant/drafts/:draft/merge',
  summary: 'Merge a draft that was reviewed, and close it',
  description:
    'All or nothing, as a single change in the history, in which each version names who proposed it, the draft, and you. A key cannot merge a draft in which it changed files.',
  tag: 'drafts',
  params: draftParams,
  body: z.strictObject({
    review,
    resolutions: z.array(resolution).max(1000).default([]).meta({
      description: 'One for each conflict, and for any other file that the merge should change.',
    }),
  }),
  response: { description: 'The changes that the merge made.', schema: mergedSchema },
  errors: [
    ...rejections,
    new ServiceError('draft_conflicts', ['/memories/notes.md']),
    new ServiceError('draft_blocked_by', '/memories/plan', '/memories/plan/a.md', null),
    new ServiceError('draft_text_blocked_by', '/memories/plan', '/memories/plan/a.md'),
    new ServiceError('draft_file_unknown', '0b9ee7d4-2f6e-4e5f-8f5e-0c8f6a1d9b52'),
    new ServiceError('draft_text_for_deletion', '/memories/notes.md'),
    new ServiceError('content_has_nul', '/memories/notes.md'),
    new ServiceError('secrets_in_content', ['AWS access key']),
  ],
  isHeavy: true,
  async run(call) {
    const { tenant, draft } = call.params;
    call.note({ details: { draft } });
    const resolutions = new Map<string, Resolution>(
      call.body.resolutions.map((each) => [each.memory_id, 'take' in each ? each.take : { text: each.text }]),
    );
    const merged = await mergeDraft(call.database, { tenant, draft }, resolutions, await optionsFor(call));
    return mergedRecord(call, merged);
  },
});

export const replaceByTenantDraft = defineOperation({
  id: 'replaceByDraft',
  method: 'POST',
  url: '/tenants/:tenant/drafts/:draft/replace',
  summary: 'Make the memory identical to a draft, and close the draft',
  description:
    'Changes made in the original since the base are undone, too. If either side has changed since the review, the memory is left unchanged.',
  tag: 'drafts',
  params: draftParams,
  body: z.strictObject({ review }),
  response: { description: 'The changes that the merge made.', schema: mergedSchema },
  errors: rejections,
  isHeavy: true,
  async run(call) {
    const { tenant, draft } = call.params;
    call.note({ details: { draft } });
    return mergedRecord(call, await replaceByDraft(call.database, { tenant, draft }, await optionsFor(call)));
  },
});
