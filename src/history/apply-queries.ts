import type { MemoryPath } from '../memory/path.ts';
import type { OverQuota, TenantDefaults } from '../memory/store.ts';
import { defineQuery } from '../postgres/query.ts';
import { time } from '../postgres/time.ts';

/* How `restore` and `revert` change a memory, once it is known what they make of each file. */

const TIMES = `
SELECT ${time('$2::text::timestamptz')} AS "time", ${time('GREATEST(created_at, $2::text::timestamptz)')} AS "from"
FROM tenants WHERE id = $1`;

/** A time as times are written here, and `from`: when the tenant was created, if that is later. */
export const readTimesQuery = defineQuery<{ tenant: string; time: string }, { time: string; from: string }>(
  'read_times',
  ['tenant', 'time'],
  TIMES,
);

/** The same, and locks the tenant. */
export const lockTimesQuery = defineQuery<{ tenant: string; time: string }, { time: string; from: string }>(
  'lock_times',
  ['tenant', 'time'],
  `${TIMES} FOR NO KEY UPDATE`,
);

/** What is at some paths and, of the directories `parents`, directly below them. */
export const findAroundQuery = defineQuery<
  { tenant: string; paths: string[]; parents: string[] },
  { path: MemoryPath; kind: 'file' | 'dir' }
>(
  'find_around',
  ['tenant', 'paths', 'parents'],
  `
SELECT e.path, e.kind FROM unnest($2::text[]) AS p (path), LATERAL (
  SELECT path, kind FROM entries WHERE tenant_id = $1 AND path = p.path OFFSET 0
) AS e
UNION
SELECT e.path, e.kind FROM unnest($3::text[]) AS p (path), LATERAL (
  SELECT path, kind FROM entries WHERE tenant_id = $1 AND parent_path = p.path OFFSET 0
) AS e
`,
);

/** The files of a planned change whose sizes count, and the limits. */
type Sized = {
  tenant: string;
  deleted: string[];
  removed: string[];
  made: string[];
  from: string[];
  sources: (string | null)[];
  added: string[];
  addedSources: string[];
} & TenantDefaults;

/** Makes a planned change: migrations/functions/memory_restore.sql. */
export const restoreQuery = defineQuery<
  Sized & { to: string[]; memoryIds: string[]; change: string; origin: string },
  { data: Omit<OverQuota, 'kind'> | null }
>(
  'restore',
  [
    ...(['tenant', 'deleted', 'removed', 'made', 'from', 'to', 'sources'] as const),
    ...(['memoryIds', 'added', 'addedSources', 'change', 'origin'] as const),
    ...(['maxFiles', 'maxBytes', 'historyDays', 'maxHistoryBytes'] as const),
  ],
  `
SELECT data FROM memory_restore(
  $1, $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[]::uuid[],
  $8::text[]::uuid[], $9::text[], $10::text[]::uuid[], $11::text::uuid, $12::text::jsonb,
  $13::bigint, $14::bigint, $15::bigint, $16::bigint
)
`,
);

/** The quota that a planned change would exceed, or null. */
export const restoreExcessQuery = defineQuery<Sized, { data: Omit<OverQuota, 'kind'> | null }>(
  'restore_excess',
  [
    'tenant',
    'deleted',
    'removed',
    'made',
    'from',
    'sources',
    'added',
    'addedSources',
    'maxFiles',
    'maxBytes',
  ],
  `
SELECT memory_restore_excess(
  $1, $2::text[], $3::text[], $4::text[], $5::text[], $6::text[]::uuid[], $7::text[], $8::text[]::uuid[], $9::bigint, $10::bigint
) AS data
`,
);
