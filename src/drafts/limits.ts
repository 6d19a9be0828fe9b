import type { Config } from '../config.ts';
import { ServiceError } from '../errors.ts';
import { defineQuery, type QueryExecutor } from '../postgres/query.ts';
import { effectiveSettings } from '../tenants/effective-settings.ts';
import { findTenantQuery, type TenantRow } from '../tenants/queries.ts';
import { quotaExceeded } from '../tenants/tenants.ts';
import { timeSliced } from '../util/time-slice.ts';
import type { PlannedChange } from './plan.ts';

/* The limits that a merge obeys. */

const countDirectoriesQuery = defineQuery<{ tenant: string }, { count: number }>(
  'count_directories',
  ['tenant'],
  `SELECT count(*)::float8 AS count FROM entries WHERE tenant_id = $1 AND dir_path > '/memories'`,
);

export interface MemoryUse {
  row: TenantRow;
  directories: number;
}

export async function readUse(query: QueryExecutor, tenant: string): Promise<MemoryUse> {
  const [row] = (await query(findTenantQuery, { tenant })).rows;
  if (row === undefined) throw new ServiceError('no_such_tenant', tenant);
  const [counted] = (await query(countDirectoriesQuery, { tenant })).rows;
  return { row, directories: counted?.count ?? 0 };
}

/** @throws ServiceError when a memory has grown and exceeds a quota; a merge that does not grow it always fits. */
export function checkQuotas(before: MemoryUse, after: MemoryUse, config: Config): void {
  const { maxFiles, maxBytes } = effectiveSettings(after.row, config);
  const uses = [
    { of: 'files', used: before.row.files, now: after.row.files, limit: maxFiles },
    { of: 'bytes', used: before.row.bytes, now: after.row.bytes, limit: maxBytes },
    { of: 'directories', used: before.directories, now: after.directories, limit: maxFiles },
  ] as const;
  for (const { of, used, now, limit } of uses) {
    if (limit === 0 || now <= limit || now <= used) continue;
    throw quotaExceeded(after.row.id, { kind: 'over_quota', of, used, limit, needed: now - used }, 'merge');
  }
}

/** @throws ServiceError when a file would exceed the memory's maximum file size. */
export async function checkFileSizes(
  changes: readonly PlannedChange[],
  row: TenantRow,
  config: Config,
): Promise<void> {
  const { maxFileBytes } = effectiveSettings(row, config);
  if (maxFileBytes === 0) return;
  for await (const { file, outcome } of timeSliced(changes)) {
    if (outcome === null || outcome.content === 'keep') continue;
    const size =
      outcome.content === 'draft' ? file.draft?.sizeBytes : Buffer.byteLength(outcome.content.text);
    if ((size ?? 0) > maxFileBytes) throw new ServiceError('file_too_large', outcome.path, maxFileBytes);
  }
}
