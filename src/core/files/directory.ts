import type { Database } from '../database/database.ts';
import { defineQuery, time } from '../database/query.ts';
import { ServiceError } from '../errors/errors.ts';
import { History } from '../history/history.ts';
import { checkComplete, type EntryRow, hadDirectory } from '../history/past.ts';
import { AFTER, COVERS } from '../history/version.ts';
import { compareCodePoints } from '../lib/text-forms.ts';
import { type MemoryPath, ROOT } from '../memory/path.ts';
import { explainAbsence } from './entry-listing.ts';

/*
 * Queries for the direct entries in the directory $path. Each statement walks an index and skips everything below a
 * child. A page therefore takes the same time in a directory with a million files as in a small one.
 *
 * The walk begins at $from and makes at most $limit steps. A step may return a deeper path, if the child directory
 * has no row or its row precedes $from. `isChild` filters such paths.
 */

const REST = (path: string) => `substr(${path}, length($path::text) + 2)`;

/** First possible path for the next child; must agree with `pathAfter`. */
const PATH_AFTER = (path: string) => `
  CASE WHEN strpos(${REST(path)}, '/') = 0 THEN ${path} || E'\\x01'
    ELSE $path || '/' || split_part(${REST(path)}, '/', 1) || '0' END`;

interface Params extends Record<string, string | number> {
  tenant: string;
  path: string;
  from: string;
  limit: number;
}

const nextDirectory = (from: string) => `
  SELECT e.dir_path FROM entries AS e WHERE e.tenant_id = $tenant AND e.dir_path >= ${from}
    AND e.dir_path < $path || '0'
  ORDER BY e.dir_path LIMIT 1`;

export const listChildDirectoriesQuery = defineQuery<Params, EntryRow>(
  'list_child_directories',
  `
WITH RECURSIVE walk (path, step) AS (
  SELECT (${nextDirectory('$from')}), 1
  UNION ALL
  SELECT (${nextDirectory(PATH_AFTER('walk.path'))}), walk.step + 1 FROM walk WHERE walk.path IS NOT NULL
    AND walk.step < $limit::integer
)
SELECT e.path, e.kind, NULL::integer AS bytes, ${time('e.changed_at')} AS modified, NULL::uuid AS "versionId",
  NULL::uuid AS "memoryId"
FROM walk JOIN entries AS e ON e.tenant_id = $tenant AND e.path = walk.path
ORDER BY e.path
`,
);

/** Entries in a directory. Directories among them only count as steps. */
export const listChildFilesQuery = defineQuery<Params, EntryRow>(
  'list_child_files',
  `
SELECT path, kind, size_bytes AS bytes, ${time('updated_at')} AS modified, NULL::uuid AS "versionId",
  NULL::uuid AS "memoryId"
FROM entries WHERE tenant_id = $tenant AND parent_path = $path AND path >= $from
ORDER BY path LIMIT $limit
`,
);

interface ParamsAt extends Params {
  at: string;
}

/** A path in the walk. The other fields are null if the path did not exist at the time. */
export type ChildAtRow = Pick<EntryRow, 'path'> & {
  [Field in Exclude<keyof EntryRow, 'path'>]: EntryRow[Field] | null;
};

const nextPastDirectory = (from: string) => `
  LEAST((${nextDirectory(from)}), (
    SELECT p.path FROM past_directories AS p WHERE p.tenant_id = $tenant AND p.path >= ${from} AND p.path < $path || '0'
    ORDER BY p.path LIMIT 1
  ))`;

export const listChildDirectoriesAtQuery = defineQuery<ParamsAt, ChildAtRow>(
  'list_child_directories_at',
  `
WITH RECURSIVE walk (path, step) AS (
  SELECT ${nextPastDirectory('$from')}, 1
  UNION ALL
  SELECT ${nextPastDirectory(PATH_AFTER('walk.path'))}, walk.step + 1 FROM walk WHERE walk.path IS NOT NULL
    AND walk.step < $limit::integer
)
SELECT walk.path, d.kind, NULL::integer AS bytes, ${time('d.created_at')} AS modified, NULL::uuid AS "versionId",
  NULL::uuid AS "memoryId"
FROM walk LEFT JOIN LATERAL (
  SELECT 'dir' AS kind, d.created_at FROM memory_directories AS d
  WHERE d.tenant_id = $tenant AND d.path = walk.path AND ${COVERS('d.created_at', 'd.removed_at', '$at')} LIMIT 1
) AS d ON true
WHERE walk.path IS NOT NULL ORDER BY walk.path
`,
);

const nextPastFile = (from: string) => `
  LEAST((
    SELECT e.path FROM entries AS e WHERE e.tenant_id = $tenant AND e.parent_path = $path AND e.path >= ${from}
    ORDER BY e.path LIMIT 1
  ), (
    SELECT v.path FROM versions AS v WHERE v.tenant_id = $tenant AND v.path >= ${from} AND v.path < $path || '0'
    ORDER BY v.path LIMIT 1
  ))`;

/** A path's last version up to the time applies, as in `findVersionAtQuery`. */
export const listChildFilesAtQuery = defineQuery<ParamsAt, ChildAtRow>(
  'list_child_files_at',
  `
WITH RECURSIVE walk (path, step) AS (
  SELECT ${nextPastFile('$from')}, 1
  UNION ALL
  SELECT ${nextPastFile(PATH_AFTER('walk.path'))}, walk.step + 1 FROM walk WHERE walk.path IS NOT NULL
    AND walk.step < $limit::integer
)
SELECT walk.path, f.kind, f.size_bytes AS bytes, ${time('f.created_at')} AS modified, f.id AS "versionId",
  f.memory_id AS "memoryId"
FROM walk LEFT JOIN LATERAL (
  SELECT 'file' AS kind, v.* FROM memory_versions AS v
  WHERE v.tenant_id = $tenant AND v.path = walk.path AND v.operation <> 'deleted' AND v.id < ${AFTER('$at')}
  ORDER BY v.id DESC LIMIT 1
) AS f ON ${COVERS('f.created_at', 'f.superseded_at', '$at')}
WHERE walk.path IS NOT NULL ORDER BY walk.path
`,
);

/** A time later than every change. */
const NOW = 'infinity';

/** A directory, now or at a time. */
export interface Place {
  tenant: string;
  path: MemoryPath;
  /** ISO 8601; undefined means now. */
  at: string | undefined;
}

/** Start of a page. Subdirectories come before files, each sorted by path. */
export interface Position {
  section: 'directories' | 'files';
  /** First path to examine. */
  from: string;
}

/**
 * Lists one page from a directory, now or at a past time, and examines up to `limit` paths. A page may have fewer
 * entries, or none, where many entries were deleted.
 *
 * @param position `next` in the previous page; null for the first page
 * @throws ServiceError when the directory does not exist
 * @throws ServiceError for a time before the complete history
 */
export async function listDirectory(
  database: Database,
  place: Place,
  position: Position | null,
  limit: number,
): Promise<{ entries: EntryRow[]; next: Position | null }> {
  if (position === null) await checkDirectory(database, place);
  const first = `${place.path}/`;
  let { section, from } = position ?? { section: 'directories' as const, from: first };
  from = clampToDirectory(place.path, from);
  const entries: EntryRow[] = [];
  let left = limit;
  let next: Position | null = null;
  if (section === 'directories') {
    const rows = await readChildren(database, place, { section, from }, left);
    entries.push(...rows.filter((row) => isEntry(row, place.path, 'dir')));
    left -= rows.length;
    if (left === 0) next = { section, from: pathAfter(place.path, rows.at(-1)?.path ?? from) };
    section = 'files';
    from = first;
  }
  if (next === null) {
    const rows = await readChildren(database, place, { section, from }, left);
    entries.push(...rows.filter((row) => isEntry(row, place.path, 'file')));
    if (rows.length === left) next = { section, from: pathAfter(place.path, rows.at(-1)?.path ?? from) };
  }
  // Checked after the read, because a concurrent pruning may have removed versions from the page.
  if (place.at !== undefined) await checkComplete(database.query, place.tenant, place.at);
  return { entries, next };
}

async function readChildren(
  database: Database,
  { tenant, path, at }: Place,
  { section, from }: Position,
  limit: number,
): Promise<ChildAtRow[]> {
  const params = { tenant, path, from, limit };
  const areFiles = section === 'files';
  if (at === undefined) {
    return (await database.query(areFiles ? listChildFilesQuery : listChildDirectoriesQuery, params)).rows;
  }
  const query = areFiles ? listChildFilesAtQuery : listChildDirectoriesAtQuery;
  return (await database.query(query, { ...params, at })).rows;
}

const isChild = (directory: string, path: string) => !path.includes('/', directory.length + 1);

function isEntry(row: ChildAtRow, directory: string, kind: EntryRow['kind']): row is EntryRow {
  return row.kind === kind && isChild(directory, row.path);
}

/** Returns the first possible path for the next child; must agree with `PATH_AFTER`. */
function pathAfter(directory: string, path: string): string {
  if (isChild(directory, path)) return `${path}\u0001`;
  return `${path.slice(0, path.indexOf('/', directory.length + 1))}0`;
}

/** Returns `path` if it is below the directory; otherwise the first possible path below the directory. */
export function clampToDirectory(directory: string, path: string): string {
  return path.startsWith(`${directory}/`) ? path : `${directory}/`;
}

/** @throws ServiceError when the directory does not exist, or did not exist at the time */
export async function checkDirectory(database: Database, { tenant, path, at }: Place): Promise<void> {
  if (path === ROOT) return;
  const history = new History(database);
  if (await hadDirectory(history, tenant, path, at ?? NOW)) return;
  if (at === undefined) throw new ServiceError('nothing_at', tenant, path);
  await checkComplete(database.query, tenant, at);
  throw await explainAbsence(history, tenant, path, at);
}

interface PartRow {
  /** Direct subdirectory that contains the files; null for files directly in the directory. */
  child: string | null;
  files: number;
  bytes: number;
}

type SizeParams = { tenant: string; path: string; after: string; last: string };

/** Query for the file sizes below $path, after the path $after, up to the path $last. */
const childSumsSql = (files: string) => `
SELECT CASE WHEN strpos(substr(f.path, length($path) + 2), '/') > 0
    THEN $path || '/' || split_part(substr(f.path, length($path) + 2), '/', 1) END AS child,
  count(*)::integer AS files, sum(f.size_bytes)::float8 AS bytes
FROM ${files} AS f
WHERE f.tenant_id = $tenant AND f.path > $after AND f.path <= $last`;

const sumSizesQuery = defineQuery<SizeParams, PartRow>(
  'sum_sizes',
  `${childSumsSql('entries')} AND f.kind = 'file' GROUP BY 1 ORDER BY 1`,
);

const sumSizesAtQuery = defineQuery<SizeParams & { at: string }, PartRow>(
  'sum_sizes_at',
  `${childSumsSql('memory_versions')} AND f.operation <> 'deleted' AND ${COVERS('f.created_at', 'f.superseded_at', '$at')} GROUP BY 1 ORDER BY 1`,
);

const nthPath = (table: string) =>
  `SELECT p.path FROM ${table} AS p WHERE p.tenant_id = $tenant AND p.path > $after AND p.path < $path || '0' ORDER BY p.path OFFSET $rows LIMIT 1`;

/** Query for the path after $rows rows; null if fewer rows remain. */
const endPartQuery = defineQuery<
  { tenant: string; path: string; after: string; rows: number },
  { live: string | null; past: string | null }
>('end_part', `SELECT (${nthPath('entries')}) AS live, (${nthPath('versions')}) AS past`);

export interface Sizes {
  /** Files below the directory that this part counts. */
  files: number;
  bytes: number;
  /** Sizes in this part by direct subdirectory. */
  directories: { path: string; files: number; bytes: number }[];
  /** `after` for the next part; null after the last part. */
  next: string | null;
}

/**
 * Counts one part of the files below a directory, now or at a past time. The caller adds up all parts.
 *
 * @param after `next` from the previous part; null for the first part
 * @param rows maximum number of entries and versions that a part examines
 * @throws ServiceError when the directory does not exist
 * @throws ServiceError for a time before the complete history
 */
export async function sumSizes(
  database: Database,
  place: Place,
  { after, rows }: { after: string | null; rows: number },
): Promise<Sizes> {
  const { tenant, path, at } = place;
  if (after === null) await checkDirectory(database, place);
  const start = clampToDirectory(path, after ?? '');
  const next = await findPartEnd(database, place, start, rows);
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

async function findPartEnd(database: Database, { tenant, path, at }: Place, after: string, rows: number) {
  const [end] = (await database.query(endPartQuery, { tenant, path, after, rows })).rows;
  const [live = null, past = null] = [end?.live, at === undefined ? null : end?.past];
  if (live === null || past === null) return live ?? past;
  return compareCodePoints(live, past) < 0 ? live : past;
}
