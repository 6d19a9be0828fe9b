import { randomUUID } from 'node:crypto';
import { ServiceError } from '../errors.ts';
import { storedOrigin } from '../history/origin.ts';
import { beginChangeQuery } from '../history/queries.ts';
import type { Origin } from '../memory/origin.ts';
import { type MemoryPath, ROOT } from '../memory/path.ts';
import type { OverQuota, Quotas } from '../memory/store.ts';
import type { QueryExecutor } from '../postgres/query.ts';
import { findPathsQuery, importDirectoriesQuery, importFilesQuery, reserveQuery } from './queries.ts';

/** What a batch (and a page) holds at most; one file alone may have more bytes. */
export const BATCH = { rows: 500, bytes: 4 * 1024 * 1024 } as const;

export interface ImportedFile {
  path: MemoryPath;
  content: string;
  modified: Date;
}

/** What is to be imported, known to be valid in itself. */
export interface ImportSource {
  /** All paths, with the directories above each. */
  readonly entries: ReadonlyMap<MemoryPath, { kind: 'file' | 'dir'; modified: Date }>;
  readonly files: number;
  readonly bytes: number;
  /** The files, in batches no larger than `BATCH`. */
  batches(): AsyncIterable<ImportedFile[]>;
}

export type Imported =
  /** `directories`: those that were made; the root, which is always there, is none of them. */
  | { kind: 'imported'; files: number; bytes: number; directories: string[] }
  | { kind: 'exists'; paths: string[]; total: number }
  | OverQuota;

/** How many of the paths in an import's way are named. */
const NAMED_PATHS = 5;

/**
 * Puts files and directories into a tenant's memory, in the caller's transaction. Nothing is written before all that can
 * stand in the way has been looked for: while the tenant is locked, nothing can come up.
 */
export async function importInto(
  query: QueryExecutor,
  tenant: string,
  source: ImportSource,
  quotas: Quotas,
  origin: Origin,
): Promise<Imported> {
  const at = (await query(beginChangeQuery, { tenant })).rows[0]?.at;
  if (!at) throw new ServiceError('unknown_tenant', tenant);
  const { inTheWay, directories: existing } = await findExisting(query, tenant, source);
  if (inTheWay.length > 0) {
    return { kind: 'exists', paths: inTheWay.sort().slice(0, NAMED_PATHS), total: inTheWay.length };
  }
  const needed = {
    files: source.files,
    directories:
      [...source.entries].filter(([path, { kind }]) => kind === 'dir' && path !== ROOT).length - existing,
    bytes: source.bytes,
  };
  const reserved = await query(reserveQuery, { tenant, ...needed, ...quotas });
  const exceeded = reserved.rows[0]?.exceeded;
  if (exceeded) return { kind: 'over_quota', ...exceeded };

  const directories = await importDirectories(query, tenant, source, at);
  let files = 0;
  let bytes = 0;
  for await (const batch of source.batches()) {
    await query(importFilesQuery, {
      ...{ tenant, at, origin: storedOrigin(origin) },
      paths: batch.map(({ path }) => path),
      contents: batch.map(({ content }) => content),
      versions: batch.map(() => randomUUID()),
      modified: batch.map(({ modified }) => modified.toISOString()),
    });
    files += batch.length;
    for (const { content } of batch) bytes += Buffer.byteLength(content);
  }
  return { kind: 'imported', files, bytes, directories };
}

/**
 * What is there already of an import's paths.
 *
 * @returns `inTheWay`: where something is, or a file where a directory is needed; `directories`: how many of those that are needed are
 *   there, without the root
 */
async function findExisting(query: QueryExecutor, tenant: string, { entries }: ImportSource) {
  const inTheWay: string[] = [];
  let directories = 0;
  for (const paths of chunks([...entries.keys()])) {
    const { rows } = await query(findPathsQuery, { tenant, paths });
    for (const { path, kind } of rows) {
      if (kind === 'file' || entries.get(path as MemoryPath)?.kind === 'file') inTheWay.push(path);
      else if (path !== ROOT) directories++;
    }
  }
  return { inTheWay, directories };
}

async function importDirectories(
  query: QueryExecutor,
  tenant: string,
  { entries }: ImportSource,
  at: string,
): Promise<string[]> {
  // Sorted, a directory comes after the one it is in.
  const directories = [...entries]
    .filter(([, { kind }]) => kind === 'dir')
    .sort(([a], [b]) => (a < b ? -1 : 1));
  const made: string[] = [];
  for (const chunk of chunks(directories)) {
    const paths = chunk.map(([path]) => path);
    const modified = chunk.map(([, entry]) => entry.modified.toISOString());
    const { rows } = await query(importDirectoriesQuery, { tenant, paths, modified, at });
    for (const { path } of rows) if (path !== ROOT) made.push(path);
  }
  return made;
}

function* chunks<T>(all: T[]): Generator<T[]> {
  for (let from = 0; from < all.length; from += BATCH.rows) yield all.slice(from, from + BATCH.rows);
}
