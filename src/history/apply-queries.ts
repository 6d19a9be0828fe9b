import type { MemoryPath } from '../memory/path.ts';
import type { OverQuota, Quotas } from '../memory/store.ts';
import { defineQuery } from '../postgres/query.ts';

/* How `restore` and `revert` change a memory, once it is known what they make of each file. */

/** Which contents there are, and whether the live file at the path beside it has the same. */
export const compareContentsQuery = defineQuery<
  { tenant: string; ids: string[]; paths: (string | null)[] },
  { id: string; isSame: boolean }
>(
  'compare_contents',
  ['tenant', 'ids', 'paths'],
  `
SELECT c.id, COALESCE(e.content = c.content, false) AS "isSame"
FROM unnest($2::text[]::uuid[], $3::text[]) AS w (id, path)
JOIN version_contents AS c ON c.tenant_id = $1 AND c.id = w.id
LEFT JOIN entries AS e ON e.tenant_id = $1 AND e.path = w.path AND e.size_bytes = c.size_bytes
`,
);

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
    contentIds: (string | null)[];
    memoryIds: string[];
    added: string[];
    addedContentIds: string[];
    change: string;
    historyDays: number;
    origin: string;
  } & Quotas,
  { outcome: 'restored' } | { outcome: 'over_quota'; data: Omit<OverQuota, 'kind'> }
>(
  'restore',
  [
    ...(['tenant', 'deleted', 'removed', 'made', 'from', 'to', 'contentIds'] as const),
    ...(['memoryIds', 'added', 'addedContentIds'] as const),
    ...(['maxFiles', 'maxBytes', 'change', 'historyDays', 'origin'] as const),
  ],
  `
SELECT outcome, data FROM memory_restore(
  $1, $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[]::uuid[],
  $8::text[]::uuid[], $9::text[], $10::text[]::uuid[],
  $11::bigint, $12::bigint, $13::text::uuid, $14::bigint, $15::text::jsonb
)
`,
);

export const applyQueries = [compareContentsQuery, findAroundQuery, restoreQuery] as const;
