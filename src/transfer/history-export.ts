import { ServiceError } from '../errors.ts';
import { History } from '../history/history.ts';
import type { QueryExecutor } from '../postgres/query.ts';
import { batches } from '../util/batches.ts';
import { archivedVersion, FOLDER, MANIFEST, PAGE_ROWS } from './history-format.ts';
import { exportContentsQuery, exportPastDirectoriesQuery, readManifestQuery } from './history-queries.ts';
import { BATCH } from './import.ts';

const BEFORE_ALL_IDS = '00000000-0000-0000-0000-000000000000';

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
    for await (const lines of batches(rows, { items: PAGE_ROWS, weight: PAGE_ROWS, weightOf: () => 1 })) {
      page++;
      const name = `${folder}/${String(page).padStart(6, '0')}.ndjson`;
      await add(name, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
    }
  };

  await add(MANIFEST, `${JSON.stringify({ format: 1, ...manifest }, null, 2)}\n`);
  await addPages('versions', versionsOf(query, tenant));
  for await (const { id, content } of contentsOf(query, tenant)) await add(`contents/${id}`, content);
  await addPages('directories', directoriesOf(query, tenant));
  return manifest.versions;
}

async function* versionsOf(query: QueryExecutor, tenant: string) {
  for await (const version of new History({ query }).versions(tenant)) yield archivedVersion(version);
}

async function* contentsOf(query: QueryExecutor, tenant: string) {
  let after = BEFORE_ALL_IDS;
  for (;;) {
    const { rows } = await query(exportContentsQuery, {
      ...{ tenant, after, limit: BATCH.rows, bytes: BATCH.bytes },
    });
    const last = rows.at(-1);
    if (last === undefined) return;
    yield* rows;
    after = last.id;
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
