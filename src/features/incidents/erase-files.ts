import type { Database } from '../../core/database/database.ts';
import type { QueryExecutor } from '../../core/database/query.ts';
import { type WrittenFile, writeChange } from '../../core/history/change.ts';
import { History } from '../../core/history/history.ts';
import { batches } from '../../core/lib/pages.ts';
import { timeSliced } from '../../core/lib/time-slice.ts';
import type { TenantDefaults } from '../../core/memory/memory-store.ts';
import { type Origin, storedActor, storedOrigin } from '../../core/memory/origin.ts';
import type { MemoryPath } from '../../core/memory/path.ts';
import { lockTenantQuery } from '../../core/tenants/queries.ts';
import type { SoughtText } from './compared-text.ts';
import { cleanPath } from './erase-path.ts';
import {
  baseVersionsQuery,
  currentFilesQuery,
  eraseBaseVersionsQuery,
  redactVersionsQuery,
  rewriteVersionQuery,
} from './erase-queries.ts';
import type { Counts } from './jobs.ts';

/* Erases a text from the files in one tenant or one draft, whose memory is a tenant with the draft's ID. */

export interface Store {
  id: string;
  isDraft: boolean;
}

/** A file's versions that contain the text in their contents or paths. */
export interface FoundFile {
  memoryId: string;
  /** The current version, if its content contains the text. */
  current: string | null;
  /** Superseded versions with their paths. */
  superseded: Map<string, MemoryPath>;
}

export interface Erasure {
  erased: SoughtText;
  /** Origin for the edits and redactions. */
  origin: Origin;
  defaults: TenantDefaults;
  /** Erases the text from contents, outside the event loop. */
  eraseAll(contents: string[]): Promise<string[]>;
  /** Adds to the counts, in the same transaction as the counted changes. */
  count(query: QueryExecutor, more: Counts): Promise<void>;
}

interface CurrentFile {
  memoryId: string;
  versionId: string;
  path: MemoryPath;
  bytes: number;
  origin: string | null;
}

const BATCH = { items: 20, weight: 4 * 1024 * 1024 };
const VERSIONS_A_CALL = 500;

/** Edits current files and redacts superseded versions. A batch of files is one transaction. */
export async function eraseFiles(
  database: Database,
  store: Store,
  files: readonly FoundFile[],
  erasure: Erasure,
): Promise<void> {
  const current = await readCurrent(database.query, store, files);
  const weigh = ({ memoryId }: FoundFile) => current.get(memoryId)?.bytes ?? 0;
  for await (const batch of batches(timeSliced(files), { ...BATCH, weigh }))
    await eraseBatch(database, store, batch, current, erasure);
}

/** Reads the files that are still at the version that was found. The other files are found again. */
async function readCurrent(
  query: QueryExecutor,
  { id: tenant }: Store,
  files: readonly FoundFile[],
): Promise<Map<string, CurrentFile>> {
  const found = new Map(files.map(({ memoryId, current }) => [memoryId, current]));
  const memoryIds = files.flatMap(({ memoryId, current }) => (current === null ? [] : [memoryId]));
  const { rows } = await query(currentFilesQuery, { tenant, memoryIds });
  return new Map(
    rows.flatMap((row) => (found.get(row.memoryId) === row.versionId ? [[row.memoryId, row]] : [])),
  );
}

async function eraseBatch(
  database: Database,
  store: Store,
  files: readonly FoundFile[],
  known: ReadonlyMap<string, CurrentFile>,
  erasure: Erasure,
): Promise<void> {
  const tenant = store.id;
  const bases = await readBases(database, store, files);
  // A merge needs the base content, so the base is edited in place.
  const rewritten = files.flatMap(({ memoryId, superseded }) => {
    const versionId = bases.get(memoryId) ?? '';
    const path = superseded.get(versionId);
    return path === undefined ? [] : [{ memoryId, versionId, path: cleanPath(path, erasure.erased) }];
  });
  const read = [...files.flatMap(({ memoryId }) => known.get(memoryId) ?? []), ...rewritten];
  const contents = [...(await new History(database).contents(tenant, read))];
  const texts = await erasure.eraseAll(contents.map(([, content]) => content));
  const textByVersion = new Map(contents.map(([version], i) => [version, texts[i] ?? '']));
  const by = storedActor(erasure.origin.actor);

  await database.transaction(async (query) => {
    if ((await query(lockTenantQuery, { tenant })).rows.length === 0) return;
    const current = await readCurrent(query, store, files);
    const edited = [...current.values()].filter(({ versionId }) => textByVersion.has(versionId));
    if (edited.length > 0) {
      const written = edited.map((file) => writtenFile(store, file, textByVersion, erasure));
      await writeChange(
        query,
        tenant,
        { made: [], removed: [], files: written },
        [written],
        erasure.defaults,
        erasure.origin.actor,
      );
    }
    const memoryIds = edited.map(({ memoryId }) => memoryId);
    const before = edited.map(({ versionId }) => versionId);
    if (store.isDraft) await query(eraseBaseVersionsQuery, { tenant, memoryIds, versions: before });
    for (const { memoryId, versionId, path } of rewritten) {
      const content = textByVersion.get(versionId);
      if (content === undefined) continue;
      await query(rewriteVersionQuery, { tenant, memoryId, version: versionId, path, content });
    }
    const isRewritten = new Set(
      rewritten.map(({ versionId }) => versionId).filter((id) => textByVersion.has(id)),
    );
    const redacted = [
      ...edited,
      ...files.flatMap(({ memoryId, superseded }) =>
        [...superseded.keys()].map((versionId) => ({ memoryId, versionId })),
      ),
    ].filter(({ versionId }) => !isRewritten.has(versionId));
    for (let from = 0; from < redacted.length; from += VERSIONS_A_CALL) {
      const part = redacted.slice(from, from + VERSIONS_A_CALL);
      await query(redactVersionsQuery, {
        tenant,
        by,
        memoryIds: part.map((each) => each.memoryId),
        versions: part.map((each) => each.versionId),
      });
    }
    const versions = files.reduce((sum, { superseded }) => sum + superseded.size, 0);
    const more = store.isDraft ? { drafts: edited.length + versions } : { files: edited.length, versions };
    await erasure.count(query, more);
  });
}

/** Reads the base versions for a draft's files. */
async function readBases(
  { query }: Database,
  { id: tenant, isDraft }: Store,
  files: readonly FoundFile[],
): Promise<Map<string, string>> {
  if (!isDraft) return new Map();
  const memoryIds = files.map(({ memoryId }) => memoryId);
  const { rows } = await query(baseVersionsQuery, { tenant, memoryIds });
  return new Map(rows.map(({ memoryId, versionId }) => [memoryId, versionId]));
}

/** An edit to a draft's file keeps its author, so that a review and a merge still name the proposer. */
function writtenFile(
  { isDraft }: Store,
  { memoryId, versionId, path, origin }: CurrentFile,
  textByVersion: ReadonlyMap<string, string>,
  erasure: Erasure,
): WrittenFile {
  return {
    memoryId,
    from: path,
    to: path,
    isEdited: true,
    origin: (isDraft ? origin : null) ?? storedOrigin(erasure.origin),
    text: textByVersion.get(versionId) ?? '',
    version: null,
  };
}
