import type { FeatureService, Services } from '../../core/files/services.ts';
import type { EventStream } from '../../core/http/event-stream.ts';
import { pauseAfterSlice } from '../../core/lib/time-slice.ts';
import { type Cursor, formatCursor } from './changes.ts';
import { type EventPage, type ReadOptions, readEvents } from './read-events.ts';

/** Sends changes as they are made. Readers at the same position share a read. */
export class ChangeFeed implements FeatureService {
  readonly #services: Services;
  /** Pages that are being read, by tenant, position, and options. */
  readonly #reading = new Map<string, Promise<EventPage<Cursor>>>();

  constructor(services: Services) {
    this.#services = services;
  }

  /**
   * Sends a tenant's events after a position until the stream ends. A slow client continues from the history, so no
   * event waits in memory.
   *
   * @throws ServiceError 410 if changes after the position are no longer in the history
   * @throws DatabaseError
   */
  async stream(stream: EventStream, tenant: string, start: Cursor, options: ReadOptions): Promise<void> {
    let resume = () => {};
    const wake = async () => resume();
    const unfollow = this.#services.watches.follow(tenant, wake, { hearsWrites: true });
    stream.signal.addEventListener('abort', wake);
    try {
      // A client whose first stream breaks without an event would otherwise begin again, after another `now`.
      await stream.send({ id: formatCursor(start) });
      for (let cursor = start; !stream.signal.aborted; ) {
        // A change during the read ends the next wait.
        const changed = new Promise<void>((resolve) => {
          resume = resolve;
        });
        const page = await this.#read(tenant, cursor, options);
        for (const event of page.events) {
          await pauseAfterSlice();
          await stream.send({ id: event.cursor, data: JSON.stringify(event) });
        }
        const sent = page.events.at(-1)?.cursor ?? formatCursor(cursor);
        const position = formatCursor(page.cursor);
        // The client also continues after events that the filter left out.
        if (position !== sent) await stream.send({ id: position });
        cursor = page.cursor;
        if (!page.hasMore) await changed;
      }
    } finally {
      unfollow();
    }
  }

  #read(tenant: string, cursor: Cursor, options: ReadOptions): Promise<EventPage<Cursor>> {
    const key = JSON.stringify([tenant, cursor, options]);
    const reading =
      this.#reading.get(key) ??
      readEvents(this.#services.database, tenant, cursor, options).finally(() => this.#reading.delete(key));
    this.#reading.set(key, reading);
    return reading;
  }

  async close(): Promise<void> {}
}

/** Creates a process's change feed, for `Services.featureService`. */
export function changeFeed(services: Services): ChangeFeed {
  return new ChangeFeed(services);
}
