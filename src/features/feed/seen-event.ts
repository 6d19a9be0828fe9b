import { ABSENT } from '../../core/history/log.ts';
import { hidesPaths, isReadable, type Rights } from '../../core/memory/rights.ts';
import { type FeedEvent, type FileEvent, isFileEvent } from './changes.ts';

/**
 * Returns an event as a caller with rights by path sees it; undefined if the caller must not know of it. A move from a
 * shown path to a hidden one is a deletion, and a move from a hidden path is a creation. A redacted version has no path,
 * so it may have been hidden.
 */
export function seenEvent(event: FeedEvent, rights: Rights | undefined): FeedEvent | undefined {
  if (!hidesPaths(rights) || !isFileEvent(event)) return event;
  if (event.type === 'redacted') return undefined;
  const { version, before } = event.entry;
  const from = before.kind === 'file' ? before.path : null;
  const isShown = version.path !== null && isReadable(rights, version.path);
  if (from === null || from === version.path) return isShown ? event : undefined;
  // The version was redacted later, and only a rename has another path.
  if (version.path === null && version.operation === 'modified')
    return isReadable(rights, from) ? event : undefined;
  if (!isReadable(rights, from)) return isShown ? asCreation(event) : undefined;
  return isShown ? event : asDeletion(event, from);
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
