import type { QueryExecutor } from '../postgres/query.ts';
import {
  type ArchivedDirectory,
  damagedHistory,
  type Manifest,
  type StoredVersion,
} from './history-format.ts';
import {
  countHistoryQuery,
  findDamageQuery,
  importContentsQuery,
  importDirectoryTimesQuery,
  importHeadsQuery,
  importPastDirectoriesQuery,
  importVersionsQuery,
} from './history-queries.ts';

/** A history that is to be imported; each of its rows is known to be valid in itself. */
export interface HistorySource {
  readonly manifest: Manifest;
  contents(): AsyncIterable<{ id: string; content: string }[]>;
  /** The versions of the live files. */
  heads(): AsyncIterable<StoredVersion[]>;
  /** The superseded versions, each with the path of the live file that has its content, if one has. */
  versions(): AsyncIterable<(StoredVersion & { head_path: string | null })[]>;
  directories(): AsyncIterable<ArchivedDirectory[]>;
}

/**
 * Gives files that were just imported into an empty tenant their history, in the caller's transaction.
 *
 * @returns how many versions there are
 * @throws OperatorError when the history does not fit together, or not to the files
 */
export async function importHistory(
  query: QueryExecutor,
  tenant: string,
  source: HistorySource,
): Promise<number> {
  for await (const batch of source.contents()) {
    const ids = batch.map(({ id }) => id);
    const contents = batch.map(({ content }) => content);
    const made = (await query(importContentsQuery, { tenant, ids, contents })).rows;
    if (made.length < batch.length) throw damagedHistory('a content is there twice');
  }
  let versions = 0;
  const check = (rows: StoredVersion[], made: { id: string }[]) => {
    versions += rows.length;
    const ids = new Set(made.map(({ id }) => id));
    const missing = rows.find(({ id }) => !ids.delete(id));
    if (missing !== undefined)
      throw damagedHistory(`the version ${missing.id} has not its content, or is there twice`);
  };
  for await (const rows of source.heads()) {
    check(rows, (await query(importHeadsQuery, { tenant, rows: JSON.stringify(rows) })).rows);
  }
  for await (const rows of source.versions()) {
    check(rows, (await query(importVersionsQuery, { tenant, rows: JSON.stringify(rows) })).rows);
  }
  for await (const rows of source.directories()) await importDirectoryRows(query, tenant, rows);

  const { created_at: createdAt, complete_since: since } = source.manifest;
  await query(countHistoryQuery, { tenant, createdAt, since });
  const damage = (await query(findDamageQuery, { tenant })).rows[0];
  if (damage !== undefined) throw damagedHistory(`${damage.at} ${damage.what}`);
  return versions;
}

async function importDirectoryRows(
  query: QueryExecutor,
  tenant: string,
  rows: ArchivedDirectory[],
): Promise<void> {
  const there = rows.filter(({ removed_at }) => removed_at === null);
  const past = rows.filter(({ removed_at }) => removed_at !== null);
  const dated = (await query(importDirectoryTimesQuery, { tenant, rows: JSON.stringify(there) })).count;
  const made = (await query(importPastDirectoriesQuery, { tenant, rows: JSON.stringify(past) })).rows;
  if (dated < there.length) throw damagedHistory('a directory is not in the memory');
  if (made.length < past.length) throw damagedHistory('a past directory is there twice');
}
