import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Workload } from './workloads.ts';

/** One measurement: a workload against one contestant. */
export interface Job {
  workload: Workload;
  /** URL of the service, or of the database when only the driver is measured. */
  url: string;
  headers: Record<string, string>;
  /** Whether writes carry an idempotency key. */
  keyed: boolean;
  connections: number;
  tenants: number;
  warmUpSeconds: number;
  seconds: number;
  /** A unique name for this measurement. */
  run: string;
}

export interface Measured {
  /** Requests per second after the warm-up. */
  rate: number;
  p50: number;
  p99: number;
  requests: number;
  /** Requests, including the warm-up. */
  all: number;
  /** Responses that were not 2xx, reported `is_error` or did not arrive, including the warm-up. */
  failures: number;
}

/** A child process that runs jobs one at a time. */
export class Worker {
  readonly #child: ChildProcess;

  /** @param script file in bench/support, such as `load.ts` */
  constructor(script: string) {
    const file = fileURLToPath(new URL(`./${script}`, import.meta.url));
    this.#child = fork(file, [], { execArgv: ['--import', 'tsx'] });
  }

  measure(job: Job): Promise<Measured> {
    return new Promise((resolve, reject) => {
      const onExit = () => reject(new Error(`The load of ${job.run} ended early.`));
      this.#child.once('exit', onExit);
      this.#child.once('message', (result: Measured | { error: string }) => {
        this.#child.off('exit', onExit);
        if ('error' in result) reject(new Error(result.error));
        else resolve(result);
      });
      this.#child.send(job);
    });
  }

  stop(): void {
    this.#child.kill();
  }
}

/** The child's side: runs jobs that the parent process sends. */
export function serveJobs(measure: (job: Job) => Promise<Measured>): void {
  process.on('message', async (job: Job) => {
    const result = await measure(job).catch((error: unknown) => ({ error: String(error) }));
    process.send?.(result);
  });
}
