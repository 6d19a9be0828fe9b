import { randomUUID } from 'node:crypto';
import { defineQuery, type QueryExecutor } from '../database/query.ts';
import { ServiceError } from '../errors/errors.ts';
import { timeSliced } from '../lib/time-slice.ts';
import type { OverQuota, Quotas, TenantDefaults } from '../memory/memory-store.ts';
import type { Actor } from '../memory/origin.ts';
import { type MemoryPath, ROOT } from '../memory/path.ts';
import { recordNearLimits } from '../tenants/near-limits.ts';
import { beginChangeQuery } from '../tenants/queries.ts';
import { requireTenant } from '../tenants/tenants.ts';

/* Writes planned changes to many files and directories for restores, reverts, and merges. */

/** Paths of existing files, grouped by the kind of change, and directory paths. */
type Replaced = {
  edited: string[];
  moved: string[];
  leaving: string[];
  deleted: string[];
  deletedBy: number[];
  removed: string[];
  made: string[];
};
const NOTHING: Replaced = {
  edited: [],
  moved: [],
  leaving: [],
  deleted: [],
  deletedBy: [],
  removed: [],
  made: [],
};

/** See migrations/functions/memory_change.sql. */
const changeQuery = defineQuery<
  {
    tenant: string;
    at: string;
    change: string;
    memoryIds: string[];
    paths: string[];
    contents: (string | null)[];
    versions: (string | null)[];
    originIndexes: number[];
    origins: string[];
    maxHistoryBytes: number | null;
    historyDays: number;
  } & Replaced,
  { done: string }
>(
  'change',
  `
SELECT memory_change(
  $tenant, $at::timestamptz, $change::uuid, $edited::text[], $moved::text[], $leaving::text[],
  $deleted::text[], $deletedBy::integer[], $removed::text[], $made::text[],
  $memoryIds::text[]::uuid[], $paths::text[], $contents::text[], $versions::text[]::uuid[], $originIndexes::integer[],
  $origins::text[]::jsonb[], $historyDays::bigint, $maxHistoryBytes::bigint
) AS done
`,
);

const exceededQuery = defineQuery<
  { tenant: string; files: number; directories: number; bytes: number } & Quotas,
  { exceeded: Omit<OverQuota, 'kind'> | null }
>(
  'exceeded',
  `
SELECT memory_exceeded(
  $tenant, $files::bigint, $directories::bigint, $bytes::bigint, $maxFiles::bigint, $maxBytes::bigint
) AS exceeded
`,
);

export interface DirectoryChanges {
  made: readonly MemoryPath[];
  removed: readonly MemoryPath[];
}

/** Finds the quota that a planned change would exceed. A change that does not grow the memory always fits. */
export async function findExceededQuota(
  query: QueryExecutor,
  tenant: string,
  { made, removed }: DirectoryChanges,
  sizes: Iterable<{ from: { sizeBytes: number } | null; to: { sizeBytes: number } | null }>,
  { maxFiles, maxBytes }: Quotas,
): Promise<OverQuota | null> {
  let files = 0;
  let bytes = 0;
  for await (const { from, to } of timeSliced(sizes)) {
    files += (to === null ? 0 : 1) - (from === null ? 0 : 1);
    bytes += (to?.sizeBytes ?? 0) - (from?.sizeBytes ?? 0);
  }
  // The root directory does not count towards the quota.
  const directories = made.filter((path) => path !== ROOT).length - removed.length;
  const { rows } = await query(exceededQuery, { tenant, files, directories, bytes, maxFiles, maxBytes });
  const exceeded = rows[0]?.exceeded;
  return exceeded ? { kind: 'over_quota', ...exceeded } : null;
}

/**
 * A changed file with its paths before and after the change. A path is null if the file does not exist on that side of
 * the change.
 */
export interface ChangedFile {
  memoryId: string;
  from: MemoryPath | null;
  to: MemoryPath | null;
  /** Whether the file's content changes. */
  isEdited: boolean;
  /** Serialized origin, from `storedOrigin`. */
  origin: string;
}

/**
 * A file to write. The content is `text`, or the content in the tenant's `version`. If both are null, the content is
 * unchanged.
 */
export interface WrittenFile extends ChangedFile {
  to: MemoryPath;
  text: string | null;
  version: string | null;
}

/**
 * Writes a planned change in a transaction that has locked the tenant. All new versions share one time.
 *
 * @param files all files that change
 * @param batches the files among them that exist after the change; each batch is one statement
 * @param by the actor for an event about a limit
 * @returns the change's time
 * @throws ServiceError if the tenant does not exist
 */
export async function writeChange(
  query: QueryExecutor,
  tenant: string,
  { made, removed, files }: DirectoryChanges & { files: Iterable<ChangedFile> },
  batches: AsyncIterable<readonly WrittenFile[]> | Iterable<readonly WrittenFile[]>,
  { historyDays, maxHistoryBytes, ...quotas }: TenantDefaults,
  by: Actor,
): Promise<string> {
  const before = await requireTenant({ query }, tenant);
  const at = (await query(beginChangeQuery, { tenant })).rows[0]?.at;
  if (!at) throw new ServiceError('no_such_tenant', tenant);
  const change = randomUUID();
  const origins = new Origins();
  let replaced: Replaced = {
    ...(await replacedFiles(files, origins)),
    made: [...made],
    removed: [...removed],
  };
  const write = async (batch: readonly WrittenFile[], isLast: boolean) => {
    await query(changeQuery, {
      tenant,
      at,
      change,
      ...replaced,
      memoryIds: batch.map(({ memoryId }) => memoryId),
      paths: batch.map(({ to }) => to),
      contents: batch.map(({ text }) => text),
      versions: batch.map(({ version }) => version),
      originIndexes: batch.map(({ origin }) => origins.indexOf(origin)),
      origins: origins.stored,
      historyDays,
      maxHistoryBytes: isLast ? maxHistoryBytes : null,
    });
    replaced = NOTHING;
  };
  let batch: readonly WrittenFile[] = [];
  for await (const next of batches) {
    if (batch.length > 0) await write(batch, false);
    batch = next;
  }
  await write(batch, true);
  await recordNearLimits(query, before, quotas, by);
  return at;
}

async function replacedFiles(files: Iterable<ChangedFile>, origins: Origins) {
  const edited: string[] = [];
  const moved: string[] = [];
  const leaving: string[] = [];
  const deleted: string[] = [];
  const deletedBy: number[] = [];
  for await (const { from, to, isEdited, origin } of timeSliced(files)) {
    if (from === null) continue;
    if (to === null) {
      deleted.push(from);
      deletedBy.push(origins.indexOf(origin));
      continue;
    }
    (isEdited ? edited : moved).push(from);
    if (to !== from) leaving.push(from);
  }
  return { edited, moved, leaving, deleted, deletedBy };
}

/** The distinct origins in a change, numbered from 1. */
class Origins {
  readonly stored: string[] = [];
  readonly #numbers = new Map<string, number>();

  indexOf(origin: string): number {
    const known = this.#numbers.get(origin);
    if (known !== undefined) return known;
    this.stored.push(origin);
    this.#numbers.set(origin, this.stored.length);
    return this.stored.length;
  }
}
