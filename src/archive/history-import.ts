import { FIRST_ID, LAST_ID } from '../history/version.ts';
import type { QueryExecutor } from '../postgres/query.ts';
import { readPages } from '../util/pages.ts';
import {
  type ArchivedDirectory,
  damagedHistory,
  type Manifest,
  type StoredVersion,
} from './history-format.ts';
import {
  countHistoryQuery,
  findDamageQuery,
  importDirectoryTimesQuery,
  importHeadsQuery,
  importPastDirectoriesQuery,
  importVersionsQuery,
  listPastFilesQuery,
  readPastContentsQuery,
  replaceContentQuery,
} from './history-queries.ts';
import { BATCH } from './queries.ts';

/** A history that is to be imported; each of its rows is known to be valid in itself. */
export interface HistorySource {
  readonly manifest: Manifest;
  /** The versions of the live files. */
  heads(): AsyncIterable<StoredVersion[]>;
  /** The superseded versions. */
  versions(): AsyncIterable<StoredVersion[]>;
  directories(): AsyncIterable<ArchivedDirectory[]>;
  /** Returns the content to keep of a version, by a policy on secrets; undefined without one. Throws when it refuses the content. */
  readonly inspect?: ((version: string, content: string) => Promise<string>) | undefined;
}

/**
 * Gives files that were just imported into an empty tenant their history, in the caller's transaction.
 *
 * @returns how many versions there are
 * @throws ServiceError when the history does not fit together, or not to the files
 */
export async function importHistory(
  query: QueryExecutor,
  tenant: string,
  source: HistorySource,
): Promise<number> {
  let versions = 0;
  const check = (rows: StoredVersion[], made: { id: string }[]) => {
    versions += rows.length;
    const ids = new Set(made.map(({ id }) => id));
    const missing = rows.find(({ id }) => !ids.delete(id));
    if (missing !== undefined)
      throw damagedHistory(`version ${missing.id} lacks its content or its time, or is there twice`);
  };
  for await (const rows of source.heads()) {
    check(rows, (await query(importHeadsQuery, { tenant, rows: JSON.stringify(rows) })).rows);
  }
  for await (const rows of source.versions()) {
    check(rows, (await query(importVersionsQuery, { tenant, rows: JSON.stringify(rows) })).rows);
  }
  for await (const rows of source.directories()) await importDirectoryRows(query, tenant, rows);

  await checkContents(query, tenant, source.inspect);
  const { created_at: createdAt, complete_since: since } = source.manifest;
  await query(countHistoryQuery, { tenant, createdAt, since });
  const damage = (await query(findDamageQuery, { tenant })).rows[0];
  if (damage !== undefined) throw damagedHistory(`${damage.at} ${damage.what}`);
  return versions;
}

/** Checks all superseded contents against their hashes, and then applies a policy on secrets. */
async function checkContents(
  query: QueryExecutor,
  tenant: string,
  inspect: HistorySource['inspect'],
): Promise<void> {
  const files = readPages<{ memoryId: string }>(
    async (last) =>
      (await query(listPastFilesQuery, { tenant, after: last?.memoryId ?? FIRST_ID, limit: BATCH.rows }))
        .rows,
    BATCH.rows,
  );
  for await (const { memoryId } of files) {
    await eachContent(query, { tenant, memoryId, withContents: false });
    if (inspect === undefined) continue;
    await eachContent(query, { tenant, memoryId, withContents: true }, async (version, content) => {
      const kept = await inspect(version, content);
      if (kept !== content) await query(replaceContentQuery, { tenant, memoryId, version, content: kept });
    });
  }
}

async function eachContent(
  query: QueryExecutor,
  file: { tenant: string; memoryId: string; withContents: boolean },
  visit?: (version: string, content: string) => Promise<void>,
): Promise<void> {
  let before = LAST_ID;
  for (;;) {
    const { rows } = await query(readPastContentsQuery, { ...file, before, bytes: BATCH.bytes });
    const last = rows.at(-1);
    if (last === undefined) return;
    for (const { id, isRight, content } of rows) {
      if (!isRight) throw damagedHistory(`version ${id} lacks its content`);
      if (content !== null) await visit?.(id, content);
    }
    before = last.id;
  }
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
