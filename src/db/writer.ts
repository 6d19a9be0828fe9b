import { AlreadyAnswered } from '../memory/store.ts';
import type { Database } from './database.ts';
import { CONFLICTS, sqlState, toServiceError, UNIQUE_VIOLATION, withFaultsMapped } from './errors.ts';
import { checkUnanswered, type RequestKey } from './receipts.ts';
import { retrying } from './retry.ts';
import { SerialQueue } from './serial-queue.ts';
import type { Outcome, Run, Statement, Value } from './statement.ts';
import { lockTenantStatement } from './statements/writing.ts';

/** How often a write is tried before it locks the tenant's other writers out, after which it cannot lose a race. */
const OPTIMISTIC_TRIES = 3;

/**
 * A write as it is tried. `execute` does it in one statement, and answers undefined when something stood in the way or
 * came in between. `explain` says what that is, or answers undefined when nothing is in the way (any more).
 */
export interface Write<T> {
  execute(run: Run): Promise<T | undefined>;
  explain?(run: Run): Promise<T | undefined>;
}

/** The one way by which a tenant's rows are read and written; faults come out as `ServiceError`. */
export class Writer {
  readonly #database: Database;
  readonly #queue = new SerialQueue();

  constructor(database: Database) {
    this.#database = database;
  }

  read<Params extends Record<string, Value>, Row>(
    statement: Statement<Params, Row>,
    params: Params,
  ): Promise<Outcome<Row>> {
    return withFaultsMapped(() => retrying(true, () => this.#database.run(statement, params)));
  }

  /**
   * Runs a write after the tenant's writes that came before it.
   *
   * @param request its idempotency key, if it has one
   * @throws AlreadyAnswered when the key has an answer
   */
  async write<T>(tenant: string, write: Write<T>, request?: RequestKey): Promise<T> {
    try {
      return await this.#queue.run(tenant, async () => {
        for (let attempt = 0; attempt < OPTIMISTIC_TRIES; attempt++) {
          const outcome = await retrying(request !== undefined, () => this.#try(tenant, write, request));
          if (outcome !== undefined) return outcome;
        }
        return await this.#writeExclusively(tenant, write, request);
      });
    } catch (error) {
      throw error instanceof AlreadyAnswered ? error : toServiceError(error);
    }
  }

  async #try<T>(tenant: string, write: Write<T>, request?: RequestKey): Promise<T | undefined> {
    const { run } = this.#database;
    try {
      const outcome = await write.execute(run);
      if (outcome !== undefined) return outcome;
    } catch (error) {
      const state = sqlState(error) ?? '';
      if (!CONFLICTS.has(state)) throw error;
      if (state === UNIQUE_VIOLATION && request) await checkUnanswered(run, tenant, request);
    }
    return write.explain?.(run);
  }

  /** With the tenant locked first, each statement sees what the writers before it left, and nothing comes in between. */
  async #writeExclusively<T>(tenant: string, write: Write<T>, request?: RequestKey): Promise<T> {
    return this.#database.transaction(async (run) => {
      await run(lockTenantStatement, { tenant });
      if (request) await checkUnanswered(run, tenant, request);
      const outcome = (await write.explain?.(run)) ?? (await write.execute(run));
      if (outcome === undefined) throw new Error('A write lost a race while it held the lock of its tenant.');
      return outcome;
    });
  }
}
