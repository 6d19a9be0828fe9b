import type { Database } from '../postgres/database.ts';
import { WriteBehindBuffer } from '../util/write-behind-buffer.ts';
import { dayOf, recordUsageQuery } from './days.ts';
import type { Uses } from './uses.ts';

const FLUSH_INTERVAL_MS = 60_000;
/** Maximum number of tenants that are counted between two flushes. The uses of further ones are not counted. */
const MAX_TENANTS = 100_000;

interface Counted extends Uses {
  tenant: string;
  /** `2026-11-23`, by UTC. */
  day: string;
}

/**
 * Counts in memory how often tenants are used, and adds the counts to the rows of their days once a minute, so that requests cost no
 * write. Counts since the last flush are lost when the process is killed.
 */
export class UsageCounts {
  readonly #database: Database;
  readonly #counts = new WriteBehindBuffer<Counted>((counted) => this.#write(counted), MAX_TENANTS, {
    flushMs: FLUSH_INTERVAL_MS,
    merge: (buffered, { reads, writes, refused }) => {
      buffered.reads += reads;
      buffered.writes += writes;
      buffered.refused += refused;
      return buffered;
    },
  });
  #isClosed = false;

  constructor(database: Database) {
    this.#database = database;
  }

  add(tenant: string, uses: Uses): void {
    this.#add({ tenant, day: dayOf(new Date()), ...uses });
  }

  /** Writes what was counted. */
  flush(): Promise<void> {
    return this.#counts.flush();
  }

  /** Writes what was counted, for the last time. */
  close(): Promise<void> {
    this.#isClosed = true;
    return this.flush();
  }

  #add(counted: Counted): void {
    // A tenant ID has no slash.
    this.#counts.add(`${counted.day}/${counted.tenant}`, counted);
  }

  /** One statement a tenant: on Citus, each is on another shard. */
  async #write(all: Counted[]): Promise<void> {
    for (const counted of all) {
      try {
        await this.#database.query(recordUsageQuery, { ...counted });
      } catch {
        // The database may be unavailable: the next flush tries again.
        if (!this.#isClosed) this.#add(counted);
      }
    }
  }
}
