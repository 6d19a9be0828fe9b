import { DatabaseError } from '../database/database-errors.ts';
import type { ErrorValues } from '../errors/catalog.ts';
import type { ErrorReason, ServiceError } from '../errors/errors.ts';

/**
 * Hints for errors on the command line. Messages cannot name commands, because HTTP clients receive the same messages.
 */
const HINTS: { readonly [R in ErrorReason]?: (...values: ErrorValues[R]) => string } = {
  no_such_tenant: () => 'See: memory-service tenants list',
  tenant_exists: () => 'Choose another ID.',
  tenant_is_mounted: () => 'Unmount it there first, or add --force.',
  no_such_mount: (tenant) => `See: memory-service tenants mounts ${tenant}`,
  no_such_key: () => 'See: memory-service keys list',
  unknown_key: () => 'See: memory-service keys list',
  quota_exceeded: (tenant, _what, { of, used, needed }) =>
    `Raise the limit with: memory-service tenants set ${tenant} --max-${of === 'bytes' ? 'bytes' : 'files'} ${used + needed}`,
  nothing_at: (tenant) => `See: memory-service ls ${tenant}`,
  nothing_at_time: (tenant, _path, at) => `See: memory-service ls ${tenant} --at ${at}`,
  is_directory: (tenant, path) => `List it with: memory-service ls ${tenant} ${path}`,
  was_directory: (tenant, path, at) => `List it with: memory-service ls ${tenant} ${path} --at ${at}`,
  directory_not_recursive: () => 'Add --recursive.',
  no_such_version: (tenant) => `See: memory-service log ${tenant}`,
  changes_expired: (tenant) => `For example: memory-service changes ${tenant} --after now --follow`,
  cannot_restore: (tenant, version) =>
    version === null
      ? 'Restore a directory that contains both paths, or move what is there out of the way.'
      : `Choose another path: memory-service restore ${tenant} PATH --version ${version}`,
  entry_outside_memories: () => 'Choose one with --into, for example --into /memories.',
  directory_without_memories: () => 'Choose one with --into, for example --into /memories.',
  entry_stripped_away: () => 'Use a smaller number for --strip.',
  entry_history_not_placeable: () => 'Or omit --into and --strip.',
  entry_too_large: (_name, bytes, tenant) =>
    `Leave it out, or raise the limit with: memory-service tenants set ${tenant} --max-file-bytes ${bytes}`,
  import_too_large: (tenant, of) =>
    `Raise the limit with: memory-service tenants set ${tenant} --max-${of} <n>`,
  paths_in_use: () => 'Choose that directory with --into.',
  not_an_archive: () => 'For example: gunzip -c archive.tar.gz | memory-service import <tenant> -',
  target_has_other_data: () =>
    'Use an empty database, or delete what is not needed there, for example with: memory-service tenants delete',
  columns_differ: () => 'Run memory-service migrate on both, with this version.',
  no_such_job: () => 'See: memory-service jobs list',
  too_many_jobs: () => 'See: memory-service jobs list --active',
  no_such_draft: (tenant) => `See: memory-service drafts list ${tenant}`,
  too_many_drafts: (tenant, limit) =>
    `Or raise the limit with: memory-service tenants set ${tenant} --max-drafts ${limit + 1}`,
  draft_not_reviewed: () => 'See: memory-service drafts show',
  draft_conflicts: () =>
    'Resolve each with --take <path>=draft, --take <path>=original or --text <path>=<file>.',
  database_not_migrated: () => 'Run: memory-service migrate',
};

export function explain(error: ServiceError): string {
  if (error instanceof DatabaseError && error.unavailability !== undefined)
    return `The database is not available: ${error.unavailability}.`;
  const hint = (HINTS[error.reason] as ((...values: unknown[]) => string) | undefined)?.(...error.values);
  return hint === undefined ? error.message : `${error.message} ${hint}`;
}
