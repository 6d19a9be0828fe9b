import { z } from 'zod';
import type { Database } from '../../core/database/database.ts';
import { ServiceError } from '../../core/errors/errors.ts';
import { decodeCursor } from '../../core/lib/cursor.ts';
import { FIRST_ID } from '../../core/lib/uuids.ts';
import type { PlacedEvent } from './change-event.ts';
import type { Changes, Page } from './changes.ts';
import { type FleetChange, type FleetLog, fleetPosition } from './fleet-log.ts';
import { type EventPage, isWanted, type ReadOptions, toEventPage } from './read-events.ts';

/** A position in all tenants' events: in the log, and after an event in the log's next change. */
const fleetCursor = z.strictObject({ log: fleetPosition, event: z.guid().nullable() });
export type FleetCursor = z.infer<typeof fleetCursor>;

export interface FleetOptions extends ReadOptions {
  /** The tenants to read; undefined for all. */
  tenants: readonly string[] | undefined;
}

/** Number of tenants whose changes are read at the same time. */
const MAX_CONCURRENT_TENANTS = 8;

/**
 * Returns the position where reading begins: the log's start, its end for `now`, or a cursor's position.
 *
 * @throws ServiceError 400 if the text is not a cursor, or 409 while the log is off
 */
export async function beginFleet(log: FleetLog, given: string | undefined): Promise<FleetCursor> {
  if (given !== undefined && given !== 'now') {
    const cursor = decodeCursor(fleetCursor, given);
    if (cursor === undefined) throw new ServiceError('invalid_change_cursor');
    return cursor;
  }
  const position = await (given === 'now' ? log.latest() : log.oldest());
  if (position === undefined) throw new ServiceError('change_log_off');
  return { log: position, event: null };
}

/** Readers whose pages streams may share. */
export interface FleetSource {
  database: Database;
  log: Pick<FleetLog, 'page'>;
  tenants: Pick<Changes, 'page'>;
}

/**
 * Reads the next events in all tenants. A page may have fewer events than the limit, even none, while there are more.
 *
 * @throws ServiceError 410 if the log begins after the position
 * @throws DatabaseError
 */
export async function readFleetEvents(
  { database, log, tenants: reader }: FleetSource,
  start: FleetCursor,
  { limit, content, tenants, ...filter }: FleetOptions,
): Promise<EventPage<FleetCursor>> {
  const page = await log.page(start.log, limit);
  if (page === undefined) throw new ServiceError('log_position_expired');
  const wanted = tenants && new Set(tenants);
  const changes = page.changes.filter(({ tenant }) => wanted?.has(tenant) ?? true);
  const read = await readTenants(reader, changes, { limit, by: filter.by, first: start.event });
  const found: PlacedEvent<FleetCursor>[] = [];
  let cursor = start;
  const endPage = (hasMore: boolean) => toEventPage(database, found, { content, cursor, hasMore });
  for (const change of page.changes) {
    const { events = [], hasMore = false } = read.get(change.tenant) ?? {};
    const own = events.filter((event) => event.cursor.time === change.at);
    const isWhole = !hasMore || change.at < (events.at(-1)?.cursor.time ?? '');
    for (const event of own) {
      const isLast = isWhole && event === own.at(-1);
      cursor = isLast ? { log: change.position, event: null } : { log: cursor.log, event: event.cursor.id };
      if (isWanted(event, filter)) found.push({ tenant: change.tenant, event, cursor });
      if (found.length === limit) return endPage(true);
    }
    // The tenant's next events are read with the next page.
    if (!isWhole) return endPage(true);
    cursor = { log: change.position, event: null };
  }
  cursor = { log: page.position, event: null };
  return endPage(page.changes.length === limit);
}

/** Reads the events between each tenant's first and last change in a page of the log, which are in that page too. */
async function readTenants(
  reader: Pick<Changes, 'page'>,
  changes: readonly FleetChange[],
  { limit, by = null, first }: { limit: number; by: string | null | undefined; first: string | null },
): Promise<Map<string, Page>> {
  const read = new Map<string, Page>();
  const waiting = [...Map.groupBy(changes, ({ tenant }) => tenant)];
  const next = async (): Promise<void> => {
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) {
      const [tenant, own] = item;
      const [time = '', until = time] = [own[0]?.at, own.at(-1)?.at];
      const id = own[0] === changes[0] && first !== null ? first : FIRST_ID;
      read.set(tenant, await reader.page(tenant, { createdAt: null, time, id }, { limit, by, until }));
    }
  };
  await Promise.all(Array.from({ length: MAX_CONCURRENT_TENANTS }, next));
  return read;
}
