import type { MemoryPath } from '../memory/path.ts';
import { defineQuery } from '../postgres/query.ts';
import { time } from '../postgres/time.ts';
import { isBy } from './queries.ts';
import { type ByActor, PAST, type VersionState } from './restore-queries.ts';

/* What `revert` reads beside what `restore` reads, while the tenant is locked. */

/** The files that an actor has changed since a time. */
export const listTouchedQuery = defineQuery<
  { tenant: string; by: string; since: string },
  { memoryId: string }
>(
  'list_touched',
  ['tenant', 'by', 'since'],
  `
SELECT DISTINCT v.memory_id AS "memoryId" FROM memory_versions AS v
WHERE v.tenant_id = $1 AND v.created_at >= $3::text::timestamptz AND (${isBy('v.origin', '$2')})
`,
);

/** The superseded versions of files since a time, the last one before it, and whether an actor made them. */
export const listSinceQuery = defineQuery<
  { tenant: string; memoryIds: string[]; by: string; since: string },
  VersionState & ByActor
>(
  'list_since',
  ['tenant', 'memoryIds', 'by', 'since'],
  `
SELECT ${PAST}, (${isBy('v.origin', '$3')}) AS "isTheirs"
FROM unnest($2::text[]::uuid[]) AS f (id) JOIN versions AS v ON v.tenant_id = $1 AND v.memory_id = f.id
WHERE v.created_at >= COALESCE((
  SELECT max(before.created_at) FROM versions AS before
  WHERE before.tenant_id = $1 AND before.memory_id = f.id AND before.created_at < $4::text::timestamptz
), '-infinity')
`,
);

/** Directories that were made or removed since a time, and when; `removedAt` is null for those that are there. */
export const listDirectoriesSinceQuery = defineQuery<
  { tenant: string; since: string },
  { path: MemoryPath; madeAt: string; removedAt: string | null }
>(
  'list_directories_since',
  ['tenant', 'since'],
  `
SELECT d.path, ${time('d.made_at')} AS "madeAt", ${time('d.removed_at')} AS "removedAt"
FROM memory_directories AS d
WHERE d.tenant_id = $1 AND COALESCE(d.removed_at, d.made_at) >= $2::text::timestamptz
`,
);

export const revertQueries = [listTouchedQuery, listSinceQuery, listDirectoriesSinceQuery] as const;
