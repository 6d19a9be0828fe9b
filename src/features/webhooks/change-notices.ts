import type { Database } from '../../core/database/database.ts';
import { FleetLog, type FleetPosition } from '../feed/fleet-log.ts';
import { makeDue } from './turns.ts';

const CHANGES_A_PAGE = 1000;

/**
 * Makes changed tenants' endpoints due, so that idle endpoints are read rarely. A notice is a hint: an endpoint
 * that misses one is read later.
 */
export class ChangeNotices {
  readonly #database: Database;
  readonly #log: FleetLog;
  #position: FleetPosition | undefined;

  constructor(database: Database) {
    this.#database = database;
    this.#log = new FleetLog(database);
  }

  /** Whether endpoints become due after changes. False while the change log is off. */
  get areOn(): boolean {
    return this.#position !== undefined;
  }

  /** Skips the changes until the next `read`. */
  reset(): void {
    this.#position = undefined;
  }

  /** Reads the changes since the last call. */
  async read(now: string): Promise<void> {
    this.#position ??= await this.#log.latest();
    for (let isLast = false; this.#position !== undefined && !isLast; ) {
      const page = await this.#log.page(this.#position, CHANGES_A_PAGE);
      const tenants = new Set(page?.changes.map(({ tenant }) => tenant));
      if (tenants.size > 0) await makeDue(this.#database, [...tenants], now);
      this.#position = page?.position;
      isLast = page !== undefined && page.changes.length < CHANGES_A_PAGE;
    }
  }
}
