import { defineQuery, type QueryExecutor, time } from '../../core/database/query.ts';
import type { SideFile } from '../../core/history/three-way.ts';
import { readPages } from '../../core/lib/pages.ts';
import { type MemoryPath, ROOT } from '../../core/memory/path.ts';

/* Reads a draft's three sides: the base (the copied state), the draft, and the original. */

export interface Tree {
  /** Files by `memoryId`. */
  files: Map<string, SideFile>;
  /** Directories, without the root. */
  directories: Set<MemoryPath>;
  /** Whether the memory has a root, which is created by the first write. */
  hasRoot: boolean;
}

export interface Sides {
  base: Tree;
  draft: Tree;
  original: Tree;
  /** Times of the last change to the draft and to the original. */
  draftAt: string;
  originalAt: string;
}

interface TreeRow {
  path: MemoryPath;
  /** Null for directories. */
  memoryId: string | null;
  versionId: string | null;
  sizeBytes: number | null;
}

type TenantPage = { tenant: string; after: string; limit: number };

const listBaseQuery = defineQuery<TenantPage, TreeRow>(
  'list_draft_base',
  `
SELECT b.path, b.memory_id AS "memoryId", b.version AS "versionId", NULL::integer AS "sizeBytes"
FROM draft_base AS b WHERE b.tenant_id = $tenant AND b.path > $after ORDER BY b.path LIMIT $limit::integer
`,
);

const listEntriesQuery = defineQuery<TenantPage, TreeRow>(
  'list_tree_entries',
  `
SELECT e.path, e.memory_id AS "memoryId", e.version AS "versionId", e.size_bytes AS "sizeBytes"
FROM entries AS e WHERE e.tenant_id = $tenant AND e.path > $after ORDER BY e.path LIMIT $limit::integer
`,
);

/** Returns a memory's last change time, or its creation time if it never changed. */
export const lastChangeOrCreationQuery = defineQuery<{ tenant: string }, { at: string }>(
  'last_change_or_creation',
  `SELECT ${time('COALESCE(last_change_at, created_at)')} AS at FROM tenants WHERE id = $tenant`,
);

/** @param query executor for one snapshot, or for a transaction that has locked both tenants */
export async function readSides(query: QueryExecutor, tenant: string, draft: string): Promise<Sides> {
  const draftAt = await readLastChange(query, draft);
  const originalAt = await readLastChange(query, tenant);
  return {
    base: await readTree(query, listBaseQuery, draft),
    draft: await readTree(query, listEntriesQuery, draft),
    original: await readTree(query, listEntriesQuery, tenant),
    draftAt,
    originalAt,
  };
}

export async function readLastChange(query: QueryExecutor, tenant: string): Promise<string> {
  return (await query(lastChangeOrCreationQuery, { tenant })).rows[0]?.at ?? '';
}

/** Small, because the event loop parses each page without a pause. */
const PAGE = 2000;
async function readTree(query: QueryExecutor, list: typeof listEntriesQuery, tenant: string): Promise<Tree> {
  const tree: Tree = { files: new Map(), directories: new Set(), hasRoot: false };
  const rows = readPages<TreeRow>(
    async (last) => (await query(list, { tenant, after: last?.path ?? '', limit: PAGE })).rows,
    PAGE,
  );
  for await (const { path, memoryId, versionId, sizeBytes } of rows) {
    if (path === ROOT) tree.hasRoot = true;
    else if (memoryId === null || versionId === null) tree.directories.add(path);
    else tree.files.set(memoryId, { memoryId, versionId, path, sizeBytes: sizeBytes ?? 0 });
  }
  return tree;
}
