import { z } from 'zod';
import type { Database } from '../../core/database/database.ts';
import type { Query } from '../../core/database/query.ts';
import { ServiceError } from '../../core/errors/errors.ts';
import { History } from '../../core/history/history.ts';
import { addChanges, type LogEntry } from '../../core/history/log.ts';
import { toVersion } from '../../core/history/version.ts';
import { decodeCursor } from '../../core/lib/cursor.ts';
import { storedTime } from '../../core/lib/rfc3339.ts';
import { FIRST_ID } from '../../core/lib/uuids.ts';
import type { Actor } from '../../core/memory/origin.ts';
import type { EventFacts } from '../../core/tenants/events.ts';
import {
  type ChangedRow,
  type EventRow,
  type FeedState,
  feedStateQuery,
  listChangesQuery,
  listEventsQuery,
  listRedactionsQuery,
  type Position,
} from './change-queries.ts';

/** The beginning of a reading: the start of the complete history, the latest change, or a cursor's position. */
export type Start = 'history' | 'now' | Cursor;

/** A position in a tenant's changes. It expires when another tenant gets the ID. */
export interface Cursor extends Position {
  /** The tenant's creation time; null if the tenant did not exist. */
  createdAt: string | null;
}

interface PositionedEvent {
  /** Position after the event. */
  cursor: Cursor;
  /** Whether the filter by an actor or a source matches. */
  isWanted: boolean;
}

/** A change to a file, or a redaction. */
export interface FileEvent extends PositionedEvent {
  type: 'created' | 'modified' | 'renamed' | 'deleted' | 'restored' | 'redacted';
  entry: LogEntry;
}

/** Any other event, such as a tenant's or a key's. */
export interface OtherEvent extends PositionedEvent {
  type: EventFacts['type'];
  by: Actor;
  details: Omit<EventFacts, 'type'>;
}

export type FeedEvent = FileEvent | OtherEvent;

export function isFileEvent(event: FeedEvent): event is FileEvent {
  return 'entry' in event;
}

export interface Page {
  events: FeedEvent[];
  cursor: Cursor;
  hasMore: boolean;
}

const cursorSchema = z.strictObject({ createdAt: storedTime.nullable(), time: storedTime, id: z.guid() });

/** @throws ServiceError 400 if the text is not a cursor */
export function parseStart(given: string | undefined): Start {
  if (given === undefined) return 'history';
  if (given === 'now') return given;
  const cursor = decodeCursor(cursorSchema, given);
  if (cursor === undefined) throw new ServiceError('invalid_change_cursor');
  return cursor;
}

/** The position before all changes. */
const FIRST = { time: '0001-01-01T00:00:00.000000Z', id: FIRST_ID };

/**
 * Reads a tenant's changes, in order: each change that was committed has a later time than all changes to the tenant
 * that were committed before it.
 */
export class Changes {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Returns the position where reading begins. Throws `DatabaseError`. */
  async begin(tenant: string, start: Start): Promise<Cursor> {
    if (typeof start === 'object') return start;
    const state = await this.#state(tenant);
    if (state === undefined) return { createdAt: null, ...FIRST };
    const { createdAt, historySince, now } = state;
    return { createdAt, time: start === 'now' ? now : historySince, id: FIRST_ID };
  }

  /**
   * Reads at most `limit` changes after a position.
   *
   * @param by an actor or a source, as in `VersionFilter`
   * @param until reads all tenants' list up to this time; null reads the tenant's own list
   * @throws ServiceError 410 if changes after the position are no longer in the history
   * @throws DatabaseError
   */
  async page(
    tenant: string,
    cursor: Cursor,
    { limit, by = null, until = null }: { limit: number; by?: string | null; until?: string | null },
  ): Promise<Page> {
    const { time, id } = cursor;
    // The statements have different snapshots. Each one sees all changes up to this time.
    const end = until ?? (await this.#state(tenant))?.last ?? FIRST.time;
    const params = { tenant, time, id, until: end, by, limit: limit + 1 };
    const read = async (query: Query<typeof params, ChangedRow>) =>
      (await this.#database.query(query, params)).rows;
    const [changed, redacted, { rows: others }] = await Promise.all([
      read(listChangesQuery),
      read(listRedactionsQuery),
      this.#database.query(listEventsQuery, { ...params, isFleet: until !== null }),
    ]);
    // The state is read last, because changes that are pruned in the meantime would be missing without a notice.
    const state = await this.#state(tenant);
    requireComplete(tenant, cursor, state);
    const createdAt = state?.createdAt ?? null;
    const rows = mergeByPosition(changed, redacted, others).slice(0, limit);
    const entries = await addChanges(
      new History(this.#database),
      tenant,
      rows.flatMap(({ version }) => (version === undefined ? [] : [toVersion(version)])),
    );
    const events = rows.map(({ position, ...row }): FeedEvent => {
      const placed = { cursor: { createdAt, ...position } };
      if (row.version === undefined) {
        const { type, actor, details, isWanted } = row.other;
        return { ...placed, type, by: actor, details, isWanted };
      }
      const entry = entries.shift() as LogEntry;
      const type = row.isRedaction ? 'redacted' : changeType(entry);
      return { ...placed, type, entry, isWanted: row.version.isWanted };
    });
    const last = events.at(-1)?.cursor ?? cursor;
    return { events, cursor: last, hasMore: changed.length + redacted.length + others.length > limit };
  }

  async #state(tenant: string): Promise<FeedState | undefined> {
    return (await this.#database.query(feedStateQuery, { tenant })).rows[0];
  }
}

/** @throws ServiceError 410 */
function requireComplete(tenant: string, { createdAt, time }: Cursor, state: FeedState | undefined): void {
  if (createdAt === null) return;
  const isSameTenant = state?.createdAt === createdAt;
  if (!isSameTenant || time < state.historySince)
    throw new ServiceError('changes_expired', tenant, isSameTenant ? state.historySince : null);
}

type PositionedRow = { position: Position } & (
  | { version: ChangedRow; isRedaction: boolean }
  | { version?: undefined; other: EventRow }
);

/** Merges ordered lists. The time of a redaction determines its position. */
function mergeByPosition(changed: ChangedRow[], redacted: ChangedRow[], others: EventRow[]): PositionedRow[] {
  const placeVersion = (version: ChangedRow, time: string, isRedaction: boolean): PositionedRow => ({
    version,
    position: { time, id: version.id },
    isRedaction,
  });
  const rows = [
    ...changed.map((row) => placeVersion(row, row.createdAt, false)),
    ...redacted.map((row) => placeVersion(row, row.redactedAt as string, true)),
    ...others.map((other) => ({ position: { time: other.at, id: other.id }, other })),
  ];
  const key = ({ position: { time, id } }: PositionedRow) => `${time} ${id}`;
  return rows.sort((a, b) => (key(a) < key(b) ? -1 : 1));
}

/** A deleted file that exists again keeps its ID. So does a file that a draft's merge creates. */
function changeType({ version }: LogEntry): FileEvent['type'] {
  const { operation, id, memoryId, draft } = version;
  return operation === 'created' && id !== memoryId && draft === null ? 'restored' : operation;
}
