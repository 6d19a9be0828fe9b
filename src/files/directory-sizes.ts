import { checkComplete } from '../history/past.ts';
import { COVERS } from '../history/version.ts';
import type { Database } from '../postgres/database.ts';
import { defineQuery } from '../postgres/query.ts';
import { checkDirectory, type Place, within } from './directory.ts';

interface PartRow {
  /** The directory in the directory that the files are below; null for files in the directory itself. */
  child: string | null;
  files: number;
  bytes: number;
}

type Params = { tenant: string; path: string; after: string; last: string };

/** Files below $2 after the path $3, up to the path $4. */
const sumOf = (files: string) => `
SELECT CASE WHEN strpos(substr(f.path, length($2) + 2), '/') > 0
    THEN $2 || '/' || split_part(substr(f.path, length($2) + 2), '/', 1) END AS child,
  count(*)::integer AS files, sum(f.size_bytes)::float8 AS bytes
FROM ${files} AS f
WHERE f.tenant_id = $1 AND f.path > $3 AND f.path <= $4`;

const sumSizesQuery = defineQuery<Params, PartRow>(
  'sum_sizes',
  ['tenant', 'path', 'after', 'last'],
  `${sumOf('entries')} AND f.kind = 'file' GROUP BY 1 ORDER BY 1`,
);

const sumSizesAtQuery = defineQuery<Params & { at: string }, PartRow>(
  'sum_sizes_at',
  ['tenant', 'path', 'after', 'last', 'at'],
  `${sumOf('memory_versions')} AND f.operation <> 'deleted' AND ${COVERS('f.created_at', 'f.superseded_at', '$5')} GROUP BY 1 ORDER BY 1`,
);

const nthPath = (table: string) =>
  `SELECT p.path FROM ${table} AS p WHERE p.tenant_id = $1 AND p.path > $3 AND p.path < $2 || '0' ORDER BY p.path OFFSET $4 LIMIT 1`;

/** The path at which as many rows have been passed; null when there are not so many. */
const endPartQuery = defineQuery<
  { tenant: string; path: string; after: string; rows: number },
  { live: string | null; past: string | null }
>(
  'end_part',
  ['tenant', 'path', 'after', 'rows'],
  `SELECT (${nthPath('entries')}) AS live, (${nthPath('versions')}) AS past`,
);

export interface Sizes {
  /** Of all files below the directory that this part counts. */
  files: number;
  bytes: number;
  /** The part of each directory in it that has any. */
  directories: { path: string; files: number; bytes: number }[];
  /** What `after` is for the next part; null after the last one. */
  next: string | null;
}

/**
 * Counts what is below a directory, now or at a past time, a part at a time. The caller adds up the parts.
 *
 * @param after `next` of the part before; null for the first one
 * @param rows how many files and directories, and versions of them, a part examines
 * @throws ServiceError when there is no such directory
 * @throws ServiceError for a time before the history is complete
 */
export async function sumSizes(
  database: Database,
  place: Place,
  { after, rows }: { after: string | null; rows: number },
): Promise<Sizes> {
  const { tenant, path, at } = place;
  if (after === null) await checkDirectory(database, place);
  const start = within(path, after ?? '');
  const next = await endOfPart(database, place, start, rows);
  const part = { tenant, path, after: start, last: next ?? `${path}0` };
  const counted = await (at === undefined
    ? database.query(sumSizesQuery, part)
    : database.query(sumSizesAtQuery, { ...part, at }));
  if (at !== undefined) await checkComplete(database.query, tenant, at);
  const directories = counted.rows.flatMap(({ child, files, bytes }) =>
    child === null ? [] : [{ path: child, files, bytes }],
  );
  return {
    files: counted.rows.reduce((sum, { files }) => sum + files, 0),
    bytes: counted.rows.reduce((sum, { bytes }) => sum + bytes, 0),
    directories,
    next,
  };
}

async function endOfPart(database: Database, { tenant, path, at }: Place, after: string, rows: number) {
  const [end] = (await database.query(endPartQuery, { tenant, path, after, rows })).rows;
  const [live = null, past = null] = [end?.live, at === undefined ? null : end?.past];
  if (live === null || past === null) return live ?? past;
  return Buffer.compare(Buffer.from(live), Buffer.from(past)) < 0 ? live : past;
}
