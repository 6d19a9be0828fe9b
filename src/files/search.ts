import type { Database } from '../postgres/database.ts';
import { defineQuery } from '../postgres/query.ts';

const BEFORE = 100;
const AFTER = 200;

interface MatchRow {
  path: string;
  bytes: number;
  /** In seconds since 1970. */
  modified: number;
  /** Of the first match in the content; null when only the path matches. */
  line: number | null;
  before: string | null;
  after: string | null;
}

const searchFilesQuery = defineQuery<
  { tenant: string; text: string; where: string; after: string; limit: number },
  MatchRow
>(
  'search_files',
  ['tenant', 'text', 'where', 'after', 'limit'],
  `
SELECT f.path, f.size_bytes AS bytes, extract(epoch FROM f.updated_at)::float8 AS modified,
  CASE WHEN f.at > 0 THEN 1 + length(left(f.content, f.at - 1)) - length(replace(left(f.content, f.at - 1), E'\\n', '')) END AS line,
  CASE WHEN f.at > 0 THEN right(left(f.content, f.at - 1), ${BEFORE}) END AS before,
  CASE WHEN f.at > 0 THEN substr(f.content, f.at, ${AFTER}) END AS after
FROM (
  SELECT e.*, CASE WHEN $3::text = 'path' THEN 0
    ELSE strpos(lower(e.content COLLATE "default"), lower($2::text COLLATE "default")) END AS at
  FROM entries AS e WHERE e.tenant_id = $1 AND e.kind = 'file' AND e.path > $4
) AS f
WHERE f.at > 0
  OR ($3::text <> 'content' AND strpos(lower(f.path COLLATE "default"), lower($2::text COLLATE "default")) > 0)
ORDER BY f.path LIMIT $5::integer
`,
);

/** A file that matches, with the first line of its content that does. */
export interface Match extends Pick<MatchRow, 'path' | 'bytes' | 'modified' | 'line'> {
  /** A part of the line; null when only the path matches. */
  excerpt: string | null;
}

/**
 * Searches the live files of a tenant for a text in upper or lower case, in the order of their paths. Throws `DatabaseError`.
 *
 * @param query.where where the text may be
 * @param page.after a path
 */
export async function searchFiles(
  database: Database,
  tenant: string,
  { text, where }: { text: string; where: 'path' | 'content' | 'both' },
  page: { after: string; limit: number },
): Promise<Match[]> {
  const { rows } = await database.query(searchFilesQuery, { tenant, text, where, ...page });
  return rows.map(({ before, after, ...row }) => ({
    ...row,
    excerpt: before === null || after === null ? null : excerptOf(before, after),
  }));
}

/** The line of the match, as far as it is there. A match may begin with the end of a line. */
function excerptOf(before: string, after: string): string {
  const start = before.slice(before.lastIndexOf('\n') + 1);
  const end = after.indexOf('\n', 1);
  return start + (end === -1 ? after : after.slice(0, end));
}
