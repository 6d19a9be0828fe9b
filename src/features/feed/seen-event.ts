import type { Database } from '../../core/database/database.ts';
import { defineQuery } from '../../core/database/query.ts';
import { isShownSql } from '../../core/files/read-queries.ts';
import { ABSENT } from '../../core/history/log.ts';
import { hidesPaths, isReadable, type Rights, shownParams } from '../../core/memory/rights.ts';
import { type FeedEvent, type FileEvent, isFileEvent } from './changes.ts';

/** Finds the files among `$memoryIds` all of whose paths in the history the caller may read. */
const shownFilesQuery = defineQuery<
  { tenant: string; memoryIds: string[]; shown: string[]; hidden: string[] },
  { memoryId: string }
>(
  'shown_files',
  `
SELECT given.memory_id AS "memoryId" FROM unnest($memoryIds::text[]::uuid[]) AS given (memory_id), LATERAL (
  SELECT bool_and(${isShownSql('v.path')}) AS is_shown FROM memory_versions AS v
  WHERE v.tenant_id = $tenant AND v.memory_id = given.memory_id AND v.path IS NOT NULL
) AS paths
WHERE paths.is_shown
`,
);

/**
 * Returns the events as a caller with rights by path sees them, without the events that the caller must not know of. A
 * redacted version has no path: it is seen if the caller may read all other paths that the history has for the file.
 *
 * @throws DatabaseError
 */
export async function seenEvents(
  database: Database,
  tenant: string,
  events: readonly FeedEvent[],
  rights: Rights | undefined,
): Promise<FeedEvent[]> {
  if (!hidesPaths(rights)) return [...events];
  const redacted = events.flatMap((event) =>
    isFileEvent(event) && event.entry.version.path === null ? event.entry.version.memoryId : [],
  );
  const shownFiles = new Set<string>();
  if (redacted.length > 0) {
    const { shown, hidden } = shownParams(rights);
    const params = { tenant, memoryIds: [...new Set(redacted)], shown, hidden };
    const { rows } = await database.query(shownFilesQuery, params);
    for (const { memoryId } of rows) shownFiles.add(memoryId);
  }
  const isSeen = ({ entry: { version } }: FileEvent) =>
    version.path === null ? shownFiles.has(version.memoryId) : isReadable(rights, version.path);
  return events.flatMap((event) =>
    isFileEvent(event) ? (seenEvent(event, isSeen(event), rights) ?? []) : event,
  );
}

/**
 * Returns a file's event as a caller sees it: a move from a shown path to a hidden one is a deletion, and a move from a
 * hidden path is a creation.
 *
 * @param isSeen whether the caller may read the version's path
 */
function seenEvent(event: FileEvent, isSeen: boolean, rights: Rights): FeedEvent | undefined {
  const { version, before } = event.entry;
  const from = before.kind === 'file' ? before.path : null;
  if (event.type === 'redacted' || from === null || from === version.path) return isSeen ? event : undefined;
  if (!isReadable(rights, from)) return isSeen ? asCreation(event) : undefined;
  return isSeen ? event : asDeletion(event, from);
}

function asCreation(event: FileEvent): FileEvent {
  const version = { ...event.entry.version, operation: 'created' as const };
  return { ...event, type: 'created', entry: { ...event.entry, version, replaced: null, before: ABSENT } };
}

function asDeletion(event: FileEvent, path: string): FileEvent {
  const { version } = event.entry;
  const deleted = {
    ...version,
    operation: 'deleted' as const,
    path,
    contentSha256: null,
    contentSizeBytes: null,
  };
  return { ...event, type: 'deleted', entry: { ...event.entry, version: deleted, after: ABSENT } };
}
