import { ServiceError } from '../errors.ts';
import { History } from '../history/history.ts';
import { LAST_ID } from '../history/queries.ts';
import { versionOf } from '../history/version.ts';
import type { QueryExecutor } from '../postgres/query.ts';
import { batches } from '../util/batches.ts';
import { archivedVersion, FOLDER, MANIFEST, PAGE_BYTES, PAGE_ROWS } from './history-format.ts';
import { exportPastDirectoriesQuery, exportVersionsQuery, readManifestQuery } from './history-queries.ts';
import { BATCH } from './import.ts';

const PAGE = { items: PAGE_ROWS, weight: PAGE_BYTES, weightOf: (line: string) => Buffer.byteLength(line) };

/** An entry of an archive that is no file of the memory; `modified` in seconds since 1970. */
export interface ExportedHistory {
  path: string;
  kind: 'history';
  content: string;
  modified: number;
}

/**
 * Hands out a tenant's history, entry by entry and always in the same order, in the caller's snapshot.
 *
 * @returns how many versions those were
 */
export async function exportHistory(
  query: QueryExecutor,
  tenant: string,
  write: (entry: ExportedHistory) => Promise<void>,
): Promise<number> {
  const manifest = (await query(readManifestQuery, { tenant })).rows[0];
  if (manifest === undefined) throw new ServiceError('unknown_tenant', tenant);
  // No entry has a time of its own, and one that changed would make archives differ.
  const modified = Math.floor(Date.parse(manifest.created_at) / 1000);
  const add = (name: string, content: string) =>
    write({ path: `/${FOLDER}/${name}`, kind: 'history', content, modified });
  const addPages = async (folder: string, rows: AsyncIterable<object>) => {
    let page = 0;
    for await (const lines of batches(linesOf(rows), PAGE)) {
      page++;
      await add(`${folder}/${String(page).padStart(6, '0')}.ndjson`, lines.join(''));
    }
  };

  await add(MANIFEST, `${JSON.stringify({ format: 1, ...manifest }, null, 2)}\n`);
  await addPages('versions', versionsOf(query, tenant));
  await addPages('directories', directoriesOf(query, tenant));
  return manifest.versions;
}

async function* linesOf(rows: AsyncIterable<object>): AsyncGenerator<string> {
  for await (const row of rows) yield `${JSON.stringify(row)}\n`;
}

async function* versionsOf(query: QueryExecutor, tenant: string) {
  const history = new History({ query });
  let before = LAST_ID;
  for (;;) {
    const { rows } = await query(exportVersionsQuery, {
      ...{ tenant, before, limit: PAGE_ROWS, bytes: BATCH.bytes },
    });
    const last = rows.at(-1);
    if (last === undefined) return;
    const wholes = await history.contents(
      tenant,
      rows.flatMap(({ needsWhole, memoryId, id }) => (needsWhole ? [{ memoryId, versionId: id }] : [])),
    );
    for (const { spliceStart, spliceLength, keptContent, needsWhole, ...row } of rows) {
      const kept = needsWhole
        ? { spliceStart: null, spliceLength: null, keptContent: wholes.get(row.id) ?? null }
        : { spliceStart, spliceLength, keptContent };
      yield archivedVersion(versionOf(row), kept);
    }
    before = last.id;
  }
}

async function* directoriesOf(query: QueryExecutor, tenant: string) {
  let [after, afterTime] = ['', '-infinity'];
  for (;;) {
    const { rows } = await query(exportPastDirectoriesQuery, { tenant, after, afterTime, limit: PAGE_ROWS });
    const last = rows.at(-1);
    if (last === undefined) return;
    yield* rows;
    [after, afterTime] = [last.path, last.removed_at ?? 'infinity'];
  }
}
