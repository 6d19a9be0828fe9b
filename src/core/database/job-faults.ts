import type { Logger } from 'pino';
import { RepeatedFaults } from '../lib/repeated-faults.ts';
import { asDatabaseError } from './database-errors.ts';

/** Logs faults in background jobs. A repeated fault is logged once, and then at intervals. */
export class JobFaults {
  readonly #log: Logger;
  readonly #faults = new RepeatedFaults();

  constructor(log: Logger) {
    this.#log = log;
  }

  report(job: string, error: unknown, message: string, details: object = {}): void {
    const { code: fault, unavailability: reason } = asDatabaseError(error);
    const times = this.#faults.report(`${message} ${job} ${fault} ${reason ?? ''}`);
    if (times !== undefined) this.#log.error({ job, ...details, fault, reason, times }, message);
  }
}
