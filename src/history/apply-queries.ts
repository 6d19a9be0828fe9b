import type { MemoryPath } from '../memory/path.ts';
import type { OverQuota, TenantDefaults } from '../memory/store.ts';
import { defineQuery } from '../postgres/query.ts';

/* How `restore` and `revert` change a memory, once it is known what they make of each file. */

/** What is at some paths and, of the directories `parents`, directly below them. */
export const findAroundQuery = defineQuery<
  { tenant: string; paths: string[]; parents: string[] },
  { path: MemoryPath; kind: 'file' | 'dir' }
>(
  'find_around',
  ['tenant', 'paths', 'parents'],
  `
SELECT e.path, e.kind FROM unnest($2::text[]) AS p (path) JOIN entries AS e ON e.tenant_id = $1 AND e.path = p.path
UNION
SELECT e.path, e.kind FROM unnest($3::text[]) AS p (path) JOIN entries AS e ON e.tenant_id = $1 AND e.parent_path = p.path
`,
);

/** Makes a planned change: migrations/functions/memory_restore.sql. */
export const restoreQuery = defineQuery<
  {
    tenant: string;
    deleted: string[];
    removed: string[];
    made: string[];
    from: string[];
    to: string[];
    sources: (string | null)[];
    memoryIds: string[];
    added: string[];
    addedSources: string[];
    change: string;
    origin: string;
  } & TenantDefaults,
  { outcome: 'restored' } | { outcome: 'over_quota'; data: Omit<OverQuota, 'kind'> }
>(
  'restore',
  [
    ...(['tenant', 'deleted', 'removed', 'made', 'from', 'to', 'sources'] as const),
    ...(['memoryIds', 'added', 'addedSources', 'change', 'origin'] as const),
    ...(['maxFiles', 'maxBytes', 'historyDays', 'maxHistoryBytes'] as const),
  ],
  `
SELECT outcome, data FROM memory_restore(
  $1, $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[]::uuid[],
  $8::text[]::uuid[], $9::text[], $10::text[]::uuid[], $11::text::uuid, $12::text::jsonb,
  $13::bigint, $14::bigint, $15::bigint, $16::bigint
)
`,
);

export const applyQueries = [findAroundQuery, restoreQuery] as const;
