import { z } from 'zod';
import { ServiceError } from '../errors/errors.ts';
import { type Conflict, conflictText, type RevertResolution, SIDES } from '../history/conflicts.ts';
import { changeCounts } from '../history/log.ts';
import { findDifference } from '../history/patch.ts';
import { revertActor } from '../history/revert.ts';
import { readRevertedFile } from '../history/revert-difference.ts';
import { byActorOrSource } from '../history/version.ts';
import { effectiveSettings } from '../tenants/effective-settings.ts';
import { MAX_TEXT_BYTES } from '../tenants/settings.ts';
import { archived, incomplete, noSuchTenant, overQuota } from './admin-errors.ts';
import { defineOperation } from './admin-operation.ts';
import {
  changeFields,
  changeOptions,
  changesRecord,
  dryRun,
  expectedPlan,
  stalePlan,
} from './change-operations.ts';
import { differenceRecord, differenceSchema } from './differences.ts';
import {
  actor,
  actorFields,
  givenTime,
  NOT_BY_BOTH,
  readTimes,
  tenantParams,
  text,
  time,
  versionId,
} from './fields.ts';

const path = z.string();
const choice = z.enum([...SIDES, 'text']);

export const conflictReason = z
  .enum([
    'content',
    'path',
    'deleted_in_reverted',
    'deleted_in_current',
    'occupied',
    'pruned',
    'redacted',
    'resolved',
  ])
  .meta({
    description:
      'Others changed the same lines, moved the file as well, changed a file that the revert deletes, or deleted the file. Or the path is occupied, or a version that the revert needs was pruned or redacted. `resolved`: the file has a resolution without a conflict.',
  });

const conflictSchema = z
  .object({
    path: path.nullable(),
    memory_id: z.guid().nullable().meta({ description: 'Null for a directory.' }),
    reason: conflictReason,
    changed_by: actor.nullable(),
    changed_at: time.nullable(),
    at: path.nullable().meta({ description: 'The occupied path.' }),
    resolution: choice.nullable().meta({
      description: 'The applied resolution. Null if the file is left unchanged because it has no resolution.',
    }),
    choices: z.array(choice).meta({ description: 'The resolutions that the file can have.' }),
    message: z.string(),
  })
  .meta({ id: 'Conflict' });

const revertedSchema = z
  .object({
    conflicts: z.array(conflictSchema).meta({
      description:
        "First, the actor's changes that were not reverted, and why: each entry without a " +
        '`resolution`. Also lists the files with a resolution.',
    }),
    drafts: z.array(z.string()).meta({
      description:
        'Open drafts that may still contain the changes: drafts with versions by the actor, or with copies of the files. A revert does not change drafts. Before a merge, reject or edit these drafts.',
    }),
    ...changeFields,
  })
  .meta({ id: 'Reverted' });

export const takeAll = z
  .enum(SIDES)
  .optional()
  .meta({
    description:
      'The resolution for all conflicts that `resolutions` does not resolve. An occupied path, or ' +
      'a version that was pruned or redacted, can only have `current`.',
  });

const selectionFields = {
  ...actorFields,
  since: givenTime,
  until: givenTime.optional().meta({
    description:
      'Default: now. Required without `by` and `source`: undoes the changes by all actors in the ' +
      "period. Later changes by the actor are treated like other actors' changes. With a change's " +
      '`changed_at` as `since` and `until`, the revert undoes that change alone.',
  }),
};

/** Arguments for `refine`: rejects a revert of all actors' changes up to now. */
export const HAS_SELECTION = [
  ({ by, source, until }: { [Name in 'by' | 'source' | 'until']?: string | undefined }) =>
    [by, source, until].some((each) => each !== undefined),
  { error: 'requires `by`, `source`, or `until` to undo the changes of all actors in a period.' },
] as const;

const resolution = z
  .union([
    z.strictObject({ memory_id: versionId, take: z.enum(SIDES) }),
    z.strictObject({ memory_id: versionId, text: text(MAX_TEXT_BYTES) }),
  ])
  .meta({
    id: 'RevertResolution',
    description:
      'The resolution for a file. `reverted` removes the reverted changes, and keeps changes by ' +
      'others in other lines. `current` leaves the file unchanged. `text` replaces its content.',
  });

const fileUnknown = new ServiceError('revert_file_unknown', '0b9ee7d4-2f6e-4e5f-8f5e-0c8f6a1d9b52');

export const revert = defineOperation({
  id: 'revert',
  method: 'POST',
  url: '/tenants/:tenant/revert',
  summary: 'Undo the changes by an actor, by a source, or in a period',
  description:
    'Changes by others in other lines are kept, by a three-way merge. A file in which others ' +
    'changed the same lines is a conflict: it is left unchanged without a resolution. The ' +
    'response is 200 even with conflicts.',
  tag: 'history',
  params: tenantParams,
  body: z
    .strictObject({
      ...selectionFields,
      resolutions: z.array(resolution).max(1000).default([]).meta({
        description: 'For files with a conflict, and for any other file in the revert.',
      }),
      take_all: takeAll,
      dry_run: dryRun,
      plan: expectedPlan,
    })
    .refine(...NOT_BY_BOTH)
    .refine(...HAS_SELECTION),
  response: { description: 'The changes, or with `dry_run` the changes to make.', schema: revertedSchema },
  errors: [
    noSuchTenant,
    incomplete,
    overQuota('revert'),
    archived,
    stalePlan,
    fileUnknown,
    new ServiceError('revert_text_for_deletion', '/memories/notes.md'),
    new ServiceError('file_too_large', '/memories/notes.md', 1048576),
    new ServiceError('content_has_nul', '/memories/notes.md'),
    new ServiceError('secrets_in_content', ['AWS access key']),
  ],
  async run({ database, merges, params: { tenant }, body, note, inSlot, ...call }) {
    const { dry_run } = body;
    const by = byActorOrSource(body);
    const { since, until } = await readTimes(database, { since: body.since, until: body.until });
    const options = {
      ...(await changeOptions(call, body)),
      threads: merges,
      takeAll: body.take_all,
      resolutions: new Map<string, RevertResolution>(
        body.resolutions.map((each) => [each.memory_id, 'take' in each ? each.take : { text: each.text }]),
      ),
      settings: {
        maxFileBytes: effectiveSettings(call.tenant, call.config).maxFileBytes,
        redaction: await (await call.services()).tenantRedaction(call.tenant),
      },
    };
    const reverted = await inSlot(() => revertActor(database, tenant, { by, since, until }, options));
    const left = reverted.conflicts.filter((conflict) => conflict.resolution === null);
    note({ details: { ...changeCounts(reverted), conflicts: left.length } });
    const { conflicts, drafts } = reverted;
    return { conflicts: conflicts.map(conflictRecord), drafts, ...changesRecord(reverted, dry_run) };
  },
});

function conflictRecord(conflict: Conflict) {
  const hasAuthor = 'changedBy' in conflict;
  return {
    path: conflict.path,
    memory_id: conflict.memoryId,
    reason: conflict.reason,
    changed_by: hasAuthor ? conflict.changedBy : null,
    changed_at: hasAuthor ? conflict.changedAt : null,
    at: conflict.reason === 'occupied' ? conflict.at : null,
    resolution: conflict.resolution,
    choices: conflict.choices,
    message: conflictText(conflict),
  };
}

const textOrNull = z.string().nullable();

export const diffRevert = defineOperation({
  id: 'diffRevert',
  method: 'GET',
  url: '/tenants/:tenant/revert/diff',
  summary: "Show a revert's change to one file",
  tag: 'history',
  params: tenantParams,
  query: z
    .strictObject({
      ...selectionFields,
      memory_id: versionId.meta({ description: 'The ID of a file in the revert.' }),
    })
    .refine(...NOT_BY_BOTH)
    .refine(...HAS_SELECTION),
  response: {
    description: 'The file.',
    schema: z.object({
      difference: differenceSchema.meta({
        description:
          'From the current state to the state without the reverted changes, which `reverted` takes ' +
          'if the file has a conflict.',
      }),
      texts: z.object({ current: textOrNull, reverted: textOrNull }).meta({
        description: 'Null where there is no file, or its content is no longer kept.',
      }),
    }),
  },
  errors: [noSuchTenant, incomplete, archived, fileUnknown],
  isHeavy: true,
  async run({ database, merges, compare, params: { tenant }, query }) {
    const { since, until } = await readTimes(database, { since: query.since, until: query.until });
    const selection = { tenant, memoryId: query.memory_id, by: byActorOrSource(query), since, until };
    const file = await readRevertedFile(database, merges, selection);
    const { current, reverted } = file;
    const change = {
      before: { kind: 'absent' as const },
      after: { kind: 'absent' as const },
      oldVersion: file.currentVersion,
      newVersion: file.revertedVersion,
    };
    const difference = await findDifference({ change, before: current, after: reverted }, compare);
    const stateText = (state: typeof current) => (state.kind === 'file' ? state.content : null);
    return {
      difference: differenceRecord(difference),
      texts: { current: stateText(current), reverted: stateText(reverted) },
    };
  },
});
