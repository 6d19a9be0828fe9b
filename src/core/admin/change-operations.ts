import { z } from 'zod';
import { databaseInstant } from '../database/clock.ts';
import { ServiceError } from '../errors/errors.ts';
import type { ChangeOptions } from '../history/apply.ts';
import { type Changes, changeCounts, summary } from '../history/log.ts';
import { restoreAt, restoreVersion } from '../history/restore.ts';
import { ROOT } from '../memory/path.ts';
import { tenantDefaults } from '../tenants/effective-settings.ts';
import { archived, incomplete, noSuchTenant, overQuota } from './admin-errors.ts';
import { type AdminContext, defineOperation } from './admin-operation.ts';
import { givenTime, memoryPath, readTimes, tenantParams, time, versionId } from './fields.ts';
import { id } from './version-operations.ts';

const path = z.string();
const EXAMPLE_PLAN = '5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9';

const fileChange = z
  .object({
    change: z.enum(['added', 'modified', 'deleted', 'renamed']),
    path,
    from: path.nullable().meta({ description: "A renamed file's previous path." }),
    memory_id: z.guid(),
    content_changed: z.boolean(),
    old_version: id.nullable().meta({ description: 'The current version; null when the file is added.' }),
    version: id
      .nullable()
      .meta({ description: 'The version that the file returns to; null when it is deleted or merged.' }),
    merged: z.boolean().meta({
      description: "Whether the file gets a new text: merged lines, or a resolution's text.",
    }),
  })
  .meta({ id: 'FileChange' });

export const changeFields = {
  dry_run: z.boolean(),
  files: z.array(fileChange).meta({ description: 'In path order.' }),
  directories_made: z.array(path),
  directories_removed: z.array(path),
  summary: z.string().meta({ examples: ['2 files added, 1 file renamed'] }),
  plan: z.string().meta({
    description: 'Identifies these changes. Send the value from a dry run to make exactly these changes.',
    examples: [EXAMPLE_PLAN],
  }),
  changed_at: time
    .nullable()
    .meta({ description: 'The time at which the versions were created; null if there were none.' }),
  kept_out: z.array(path).meta({
    description:
      'The changed files whose new content or path contains a text that is kept out. They are changed nevertheless: redact their versions, or erase the text.',
  }),
};

const restoredSchema = z.object(changeFields).meta({ id: 'Restored' });
export const dryRun = z
  .boolean()
  .default(false)
  .meta({ description: 'Run all checks and report the changes without making them.' });

export const expectedPlan = z
  .string()
  .regex(/^[0-9a-f]{64}$/, 'must be the `plan` of a dry run.')
  .optional()
  .meta({
    description:
      "A dry run's `plan`. If the changes would now differ, the memory is left unchanged and the " +
      'response is 412.',
    examples: [EXAMPLE_PLAN],
  });

const restoreBody = z
  .strictObject({
    path: memoryPath.optional().meta({
      description:
        'A file or a directory; by default the whole memory. With `version`, where to put its content: a file that is elsewhere now stays there, and the content becomes a new file at this path. By default, the file itself moves back to where it was.',
    }),
    at: givenTime.optional(),
    version: versionId.optional(),
    dry_run: dryRun,
    plan: expectedPlan,
  })
  .refine(({ at, version }) => (at === undefined) !== (version === undefined), {
    error: 'requires `at` or `version`, not both.',
  });

const cannot = new ServiceError('cannot_restore', 'acme', null, '/memories/notes.md', '/memories/notes.md');

export const stalePlan = new ServiceError('stale_plan');

export const restore = defineOperation({
  id: 'restore',
  method: 'POST',
  url: '/tenants/:tenant/restore',
  summary: 'Restore a file, a directory or the whole memory',
  description:
    'All or nothing: if a path is blocked, the memory is left unchanged. The changes are recorded as yours, so another restore undoes them.',
  tag: 'history',
  params: tenantParams,
  body: restoreBody,
  response: { description: 'The changes, or with `dry_run` the changes to make.', schema: restoredSchema },
  errors: [noSuchTenant, incomplete, cannot, overQuota('restore'), archived, stalePlan],
  async run({ database, params: { tenant }, body, note, inSlot, ...call }) {
    const { path: where, version, dry_run } = body;
    const options = await changeOptions(call, body);
    const { at = await databaseInstant(database) } = await readTimes(database, { at: body.at });
    const changes = await inSlot(() =>
      version === undefined
        ? restoreAt(database, tenant, { path: where ?? ROOT, at }, options)
        : restoreVersion(database, tenant, { version, path: where }, options),
    );
    note({ details: changeCounts(changes) });
    return changesRecord(changes, dry_run);
  },
});

export async function changeOptions(
  {
    config,
    origin,
    onProgress,
    tenant,
    services,
  }: Pick<AdminContext, 'config' | 'origin' | 'onProgress' | 'tenant' | 'services'>,
  { dry_run, plan }: { dry_run: boolean; plan?: string | undefined },
): Promise<ChangeOptions> {
  return {
    origin,
    defaults: tenantDefaults(config),
    keptOut: await (await services()).keptOut.textsFor(tenant),
    dryRun: dry_run,
    expectedPlan: plan,
    ...(onProgress && { onProgress: (items) => onProgress({ step: 'read', items }) }),
  };
}

export function changesRecord(changes: Changes, isDryRun: boolean) {
  return {
    dry_run: isDryRun,
    files: changes.files.map((file) => ({
      change: file.change,
      path: file.path,
      from: file.change === 'renamed' ? file.from : null,
      memory_id: file.memoryId,
      content_changed: file.change === 'renamed' ? file.contentChanged : true,
      old_version: file.oldVersion,
      version: file.version,
      merged: file.mergedSha256 !== null,
    })),
    directories_made: changes.directoriesMade,
    directories_removed: changes.directoriesRemoved,
    summary: summary(changes),
    plan: changes.plan,
    changed_at: changes.changedAt,
    kept_out: changes.keptOut,
  };
}
