import { ServiceError } from '../errors.ts';
import { History } from '../history/history.ts';
import { LAST_ID, type VersionRow, versionOf } from '../history/version.ts';
import { ROOT } from '../memory/path.ts';
import type { QueryExecutor } from '../postgres/query.ts';
import { batches } from '../util/batches.ts';
import { readPages } from '../util/pages.ts';
import { archivedVersion, FOLDER, MANIFEST, PAGE_BYTES, PAGE_ROWS } from './history-format.ts';
import {
  exportHeadsQuery,
  exportPastDirectoriesQuery,
  exportPresentDirectoriesQuery,
  exportVersionsQuery,
  readManifestQuery,
} from './history-queries.ts';
import { BATCH } from './queries.ts';

const PAGE = { items: PAGE_ROWS, weight: PAGE_BYTES, weightOf: (line: string) => Buffer.byteLength(line) };

/** An entry of an archive that is no file of the memory; `modified` in seconds since 1970. */
export interface ExportedHistory {
  path: string;
  kind: 'history';
  content: string;
  modified: number;
}

/**
 * Hands out a tenant's history, entry by entry and always in the same order, in the caller's snapshot. Each page starts at a key, so it costs
 * as much as the first.
 *
 * @returns how many versions those were
 */
export async function exportHistory(
  query: QueryExecutor,
  tenant: string,
  write: (entry: ExportedHistory) => Promise<void>,
): Promise<number> {
  const manifest = (await query(readManifestQuery, { tenant })).rows[0];
  if (manifest === undefined) throw new ServiceError('no_such_tenant', tenant);
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
  const heads = readPages<VersionRow>(
    async (last) =>
      (await query(exportHeadsQuery, { tenant, after: last?.path ?? '', limit: PAGE_ROWS })).rows,
    PAGE_ROWS,
  );
  const inLiveFile = { spliceStart: null, spliceLength: null, keptContent: null };
  for await (const row of heads) yield archivedVersion(versionOf(row), inLiveFile);

  const history = new History({ query });
  const past = readPages(async (last: VersionRow | undefined) => {
    const page = { before: last?.id ?? LAST_ID, limit: PAGE_ROWS, bytes: BATCH.bytes };
    const { rows } = await query(exportVersionsQuery, { tenant, ...page });
    const wholes = await history.contents(
      tenant,
      rows.flatMap(({ needsWhole, memoryId, id }) => (needsWhole ? [{ memoryId, versionId: id }] : [])),
    );
    return rows.map((row) => ({ ...row, whole: wholes.get(row.id) ?? null }));
  });
  for await (const { spliceStart, spliceLength, keptContent, needsWhole, whole, ...row } of past) {
    const kept = needsWhole
      ? { spliceStart: null, spliceLength: null, keptContent: whole }
      : { spliceStart, spliceLength, keptContent };
    yield archivedVersion(versionOf(row), kept);
  }
}

async function* directoriesOf(query: QueryExecutor, tenant: string) {
  yield* readPages<{ path: string }>(
    async (last) =>
      (await query(exportPresentDirectoriesQuery, { tenant, after: last?.path ?? ROOT, limit: PAGE_ROWS }))
        .rows,
    PAGE_ROWS,
  );
  yield* readPages<{ path: string; removed_at: string | null }>(async (last) => {
    const position = { after: last?.path ?? '', afterTime: last?.removed_at ?? '-infinity' };
    return (await query(exportPastDirectoriesQuery, { tenant, ...position, limit: PAGE_ROWS })).rows;
  }, PAGE_ROWS);
}
