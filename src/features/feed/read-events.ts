import type { Database } from '../../core/database/database.ts';
import { History } from '../../core/history/history.ts';
import { isWithin, ROOT } from '../../core/memory/path.ts';
import { hidesPaths, type Rights } from '../../core/memory/rights.ts';
import { type ChangeEvent, eventRecord, type PlacedEvent } from './change-event.ts';
import { Changes, type Cursor, type FeedEvent, isFileEvent, type Page } from './changes.ts';
import { seenEvents } from './seen-event.ts';

/** Events that a reader wants. Undefined fields match all events. */
export interface EventFilter {
  /**
   * A file, or a directory with everything below it: only changes to files. A redacted version has no path and always
   * matches.
   */
  path?: string | undefined;
  types?: readonly FeedEvent['type'][] | undefined;
  /** An actor or a source, as in `VersionFilter`. */
  by?: string | undefined;
}

export interface ReadOptions extends EventFilter {
  /** The caller's rights. */
  rights?: Rights | undefined;
  limit: number;
  /** Whether events have the contents. */
  content: boolean;
}

export interface EventPage<Position> {
  events: ChangeEvent[];
  /** Position after the page, for the client. It does not reveal hidden changes, unless only they fill the page. */
  cursor: Position;
  /** Position after the page, for the service, which need not examine hidden changes again. */
  next: Position;
  hasMore: boolean;
}

/** Maximum number of changes to examine for one page. */
const MAX_EXAMINED = 2000;
/** Size of the contents, in bytes, after which a page ends. */
export const MAX_CONTENT_BYTES = 1024 * 1024;

/**
 * Reads the next events that match a filter. A page may have fewer events than the limit, even none, while there are
 * more.
 *
 * @throws ServiceError 410 if changes after the position are no longer in the history
 * @throws DatabaseError
 */
export async function readEvents(
  database: Database,
  tenant: string,
  start: Cursor,
  { limit, content, rights, ...filter }: ReadOptions,
): Promise<EventPage<Cursor>> {
  const changes = new Changes(database);
  const isPartial = hidesPaths(rights);
  // Whether a caller has more to read depends only on events that it sees.
  const sought = isPartial ? limit + 1 : limit;
  const found: FeedEvent[] = [];
  let page: Page = { events: [], cursor: start, hasMore: true };
  let seenUntil = start;
  for (let examined = 0; page.hasMore && found.length < sought && examined < MAX_EXAMINED; ) {
    page = await changes.page(tenant, page.cursor, { limit: sought - found.length, by: filter.by ?? null });
    examined += page.events.length;
    const seen = await seenEvents(database, tenant, page.events, rights);
    seenUntil = seen.at(-1)?.cursor ?? seenUntil;
    found.push(...seen.filter((event) => isWanted(event, filter)));
  }
  const placed = found.slice(0, limit).map((event) => ({ tenant, event, cursor: event.cursor }));
  const last = placed.at(-1)?.cursor ?? start;
  if (found.length > limit) return toEventPage(database, placed, { content, cursor: last, hasMore: true });
  const { cursor: next, hasMore } = page;
  const cursor = isPartial && !hasMore ? seenUntil : next;
  return toEventPage(database, placed, { content, cursor, next, hasMore });
}

/**
 * Returns a page with the events' records, and with their contents if they are wanted. With contents, the page ends
 * before the event that exceeds `MAX_CONTENT_BYTES`, but after one event at least.
 */
export async function toEventPage<Position extends object>(
  database: Database,
  found: readonly PlacedEvent<Position>[],
  {
    content,
    cursor,
    next = cursor,
    hasMore,
  }: { content: boolean; cursor: Position; next?: Position; hasMore: boolean },
): Promise<EventPage<Position>> {
  if (!content) return { events: found.map((event) => eventRecord(event, undefined)), cursor, next, hasMore };
  const fitting = cutByContents(found);
  const events = await readContents(database, fitting);
  const last = fitting.at(-1);
  const isCut = last !== undefined && fitting.length < found.length;
  if (isCut) return { events, cursor: last.cursor, next: last.cursor, hasMore: true };
  return { events, cursor, next, hasMore };
}

async function readContents(database: Database, events: readonly PlacedEvent[]): Promise<ChangeEvent[]> {
  const contents = new Map<string, string>();
  for (const [tenant, own] of Map.groupBy(events, (each) => each.tenant)) {
    const found = await new History(database).contents(tenant, own.flatMap(storedFile));
    for (const [id, text] of found) contents.set(`${tenant} ${id}`, text);
  }
  return events.map((each) =>
    eventRecord(each, contents.get(`${each.tenant} ${each.event.cursor.id}`) ?? null),
  );
}

/** Whether a filter matches an event. */
export function isWanted(event: FeedEvent, { path = ROOT, types }: EventFilter): boolean {
  if (!event.isWanted || !(types?.includes(event.type) ?? true)) return false;
  if (path === ROOT || event.type === 'redacted') return true;
  if (!isFileEvent(event)) return false;
  const { before, version } = event.entry;
  const paths = [version.path, before.kind === 'file' ? before.path : null];
  return paths.some((each) => each !== null && isWithin(each, path));
}

function cutByContents<Event extends PlacedEvent>(events: readonly Event[]): Event[] {
  let bytes = 0;
  const tooMany = events.findIndex(({ event }, i) => {
    bytes += (isFileEvent(event) && event.entry.version.contentSizeBytes) || 0;
    return i > 0 && bytes > MAX_CONTENT_BYTES;
  });
  return events.slice(0, tooMany === -1 ? undefined : tooMany);
}

/** Returns the version whose content an event has; none for a deletion, a redaction, or another event. */
function storedFile({ event }: PlacedEvent) {
  if (!isFileEvent(event) || event.type === 'redacted') return [];
  const { memoryId, id, contentSizeBytes } = event.entry.version;
  return contentSizeBytes === null ? [] : [{ memoryId, versionId: id }];
}
