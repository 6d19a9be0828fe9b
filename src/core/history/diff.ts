import { defineQuery } from '../database/query.ts';
import { ServiceError } from '../errors/errors.ts';
import { type MemoryPath, ROOT } from '../memory/path.ts';
import type { History } from './history.ts';
import { ABSENT, addChanges, type Change, fileState, toFileState } from './log.ts';
import { checkComplete, findAt, NOW } from './past.ts';
import { COVERS, type Operation, type Version } from './version.ts';

/** A file on one side of a comparison. The path is null if the version is redacted. */
interface ComparedFile {
  id: string;
  memoryId: string;
  operation: Exclude<Operation, 'deleted'>;
  path: string | null;
  sizeBytes: number | null;
}

/** A file that differs between two times. A side is null if the file did not exist then. */
interface ChangedRow {
  old: ComparedFile | null;
  new: ComparedFile | null;
}

const FILES_AT = (at: string) => `
SELECT v.id, v.memory_id, v.path, v.content_sha256, v.live_content, jsonb_build_object(
  'id', v.id, 'memoryId', v.memory_id, 'operation', v.operation, 'path', v.path, 'sizeBytes', v.size_bytes
) AS file
FROM memory_versions AS v WHERE v.tenant_id = $tenant AND ${COVERS('v.created_at', 'v.superseded_at', at)}`;

/**
 * Lists the files that differ between two times and were at or below a path at either time, ordered by path. If a path
 * had two files, the deleted or moved file precedes its replacement.
 */
const listChangedQuery = defineQuery<{ tenant: string; path: string; from: string; to: string }, ChangedRow>(
  'list_changed',
  `
SELECT o.file AS "old", n.file AS "new"
FROM (${FILES_AT('$from')}) AS o FULL JOIN (${FILES_AT('$to')}) AS n ON n.memory_id = o.memory_id
WHERE (memory_in_subtree(o.path, $path) OR memory_in_subtree(n.path, $path))
  AND CASE
    WHEN o.id = n.id THEN false
    WHEN o.path = n.path THEN COALESCE(o.content_sha256, memory_sha256(o.live_content))
      IS DISTINCT FROM COALESCE(n.content_sha256, memory_sha256(n.live_content))
    ELSE true
  END
ORDER BY COALESCE(n.path, o.path), n.id IS NOT NULL
`,
);

export interface FileDiff extends Change {
  /** Null if no file existed, or the version is unknown. */
  oldVersion: string | null;
  newVersion: string | null;
}

async function changeBy(history: History, tenant: string, version: Version): Promise<FileDiff> {
  const [entry] = await addChanges(history, tenant, [version]);
  if (entry === undefined) throw new Error(`Version ${version.id} has no log entry.`);
  return { before: entry.before, after: entry.after, oldVersion: entry.replaced, newVersion: version.id };
}

/**
 * Yields the change that `first` made or, if `second` is given, the difference between the two versions. The versions
 * may belong to different files.
 *
 * @throws ServiceError if a version does not exist
 */
export async function* betweenVersions(
  history: History,
  tenant: string,
  first: string,
  second: string | undefined,
): AsyncGenerator<FileDiff> {
  const version = await history.requireVersion(tenant, first);
  if (second === undefined) yield await changeBy(history, tenant, version);
  else yield changeFrom(version, await history.requireVersion(tenant, second));
}

function changeFrom(old: Version, now: Version): FileDiff {
  return {
    before: toFileState(old),
    after: toFileState(now),
    oldVersion: old.id,
    newVersion: now.id,
  };
}

/**
 * Yields the files at or below a path that differ between two times, ordered by path. A moved file is compared with
 * itself. A file that replaced another file at the same path is compared with the replaced file.
 *
 * @param to the later time; defaults to now
 * @throws ServiceError if the history is incomplete at one of the times, or the path existed at neither time
 */
export async function* changesBetween(
  history: History,
  tenant: string,
  path: MemoryPath,
  { from, to = NOW }: { from: string; to?: string | undefined },
): AsyncGenerator<FileDiff> {
  const { rows } = await history.query(listChangedQuery, { tenant, path, from, to });
  // Checked after the read, because versions pruned during the read may be missing from the rows.
  for (const at of [from, to]) await checkComplete(history.query, tenant, at);
  if (rows.length === 0 && path !== ROOT) await checkExists(history, tenant, path, [from, to]);
  for (let i = 0; i < rows.length; i++) {
    const [row, next] = [rows[i], rows[i + 1]];
    if (row === undefined) return;
    if (next !== undefined && isReplaced(row, next)) {
      yield toFileDiff({ ...next, old: row.old });
      i++;
    } else {
      yield toFileDiff(row);
    }
  }
}

/** Whether `row` is a file that disappeared, and `next` the file that took over its path. */
function isReplaced(row: ChangedRow, next: ChangedRow): boolean {
  return row.new === null && next.old === null && row.old?.path === next.new?.path;
}

function toFileDiff({ old, new: now }: ChangedRow): FileDiff {
  return {
    before: old === null ? ABSENT : fileState(old),
    after: now === null ? ABSENT : fileState(now),
    oldVersion: old?.id ?? null,
    newVersion: now?.id ?? null,
  };
}

async function checkExists(
  history: History,
  tenant: string,
  path: MemoryPath,
  times: string[],
): Promise<void> {
  for (const at of times) if ((await findAt(history, tenant, path, at)).kind !== 'missing') return;
  throw new ServiceError('nothing_at_either_time', path);
}
