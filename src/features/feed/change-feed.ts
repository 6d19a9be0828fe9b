import type { FeatureService, Services } from '../../core/files/services.ts';
import { encodeCursor } from '../../core/lib/cursor.ts';
import type { SendEvents } from '../../core/lib/server-sent-events.ts';
import { SharedRuns } from '../../core/lib/shared-runs.ts';
import { pauseAfterSlice } from '../../core/lib/time-slice.ts';
import { Changes, type Cursor } from './changes.ts';
import { type FleetCursor, type FleetOptions, type FleetSource, readFleetEvents } from './fleet-events.ts';
import { FleetLog } from './fleet-log.ts';
import { type EventPage, type ReadOptions, readEvents } from './read-events.ts';

/** Interval at which the log of all tenants' changes is read. */
const POLL_MS = 500;

/** Events that readers follow from a position. */
interface Source<Position extends object> {
  start: Position;
  read(position: Position): Promise<EventPage<Position>>;
  /** Calls `wake` after changes, until the returned function is called. */
  watch(wake: () => Promise<void>): () => void;
}

/** Sends changes as they are made. Readers at the same position share a read. */
export class ChangeFeed implements FeatureService {
  readonly #services: Services;
  readonly #fleetLog: FleetLog;
  /** Running reads, by tenant, position, and options. */
  readonly #reads = new Map<string, SharedRuns<unknown>>();
  /** Wakes readers of all tenants' changes. */
  readonly #fleetReaders = new Set<() => Promise<void>>();
  readonly #timer: NodeJS.Timeout;

  constructor(services: Services) {
    this.#services = services;
    this.#fleetLog = new FleetLog(services.database);
    this.#timer = setInterval(() => {
      for (const wake of this.#fleetReaders) void wake();
    }, POLL_MS).unref();
  }

  /**
   * Returns work that sends a tenant's events after a position until the stream ends. It throws:
   * - ServiceError 410 if changes after the position are no longer in the history
   * - DatabaseError
   */
  follow(tenant: string, start: Cursor, options: ReadOptions): SendEvents {
    const { database, watches } = this.#services;
    return sendEvents({
      start,
      read: (cursor) =>
        this.#share([tenant, cursor, options], () => readEvents(database, tenant, cursor, options)),
      watch: (wake) => watches.follow(tenant, wake, { hearsWrites: true }),
    });
  }

  /** Like `follow`, for all tenants: it also throws ServiceError 410 if the log begins after the position. */
  followAll(start: FleetCursor, options: FleetOptions): SendEvents {
    const { database } = this.#services;
    const changes = new Changes(database);
    // Readers with different filters share the pages.
    const source: FleetSource = {
      database,
      log: { page: (...of) => this.#share(['log', ...of], () => this.#fleetLog.page(...of)) },
      tenants: { page: (...of) => this.#share(['tenant', ...of], () => changes.page(...of)) },
    };
    return sendEvents({
      start,
      read: (cursor) => this.#share([cursor, options], () => readFleetEvents(source, cursor, options)),
      watch: (wake) => {
        this.#fleetReaders.add(wake);
        return () => this.#fleetReaders.delete(wake);
      },
    });
  }

  /** Not a read that began before the call, because it may miss the change that woke the reader. */
  async #share<T>(key: readonly unknown[], read: () => Promise<T>): Promise<T> {
    const text = JSON.stringify(key);
    const reads = this.#reads.get(text) ?? new SharedRuns<unknown>(read);
    this.#reads.set(text, reads);
    try {
      return (await reads.run()) as T;
    } finally {
      this.#reads.delete(text);
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
  }
}

/** A slow client continues from the history, so no event waits in memory. */
function sendEvents<Position extends object>({ start, read, watch }: Source<Position>): SendEvents {
  return async (stream) => {
    let resume = () => {};
    const wake = async () => resume();
    const stop = watch(wake);
    stream.signal.addEventListener('abort', wake);
    try {
      // A client whose first stream breaks without an event would otherwise begin again, after another `now`.
      await stream.send({ id: encodeCursor(start) });
      for (let cursor = start; !stream.signal.aborted; ) {
        // A change during the read ends the next wait.
        const changed = new Promise<void>((resolve) => {
          resume = resolve;
        });
        const page = await read(cursor);
        for (const event of page.events) {
          await pauseAfterSlice();
          await stream.send({ id: event.cursor, data: event });
        }
        const sent = page.events.at(-1)?.cursor ?? encodeCursor(cursor);
        const position = encodeCursor(page.cursor);
        // The client also continues after events that the filter left out.
        if (position !== sent) await stream.send({ id: position });
        cursor = page.next;
        if (!page.hasMore) await changed;
      }
    } finally {
      stop();
    }
  };
}

/** Creates a process's change feed, for `Services.featureService`. */
export function changeFeed(services: Services): ChangeFeed {
  return new ChangeFeed(services);
}
