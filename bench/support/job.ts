import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Workload } from './workloads.ts';

/** One measurement: a workload against one contestant. */
export interface Job {
  workload: Workload;
  /** URL for the service, or for the database if only the driver is measured. */
  url: string;
  headers: Record<string, string>;
  /** Whether writes have an idempotency key. */
  keyed: boolean;
  connections: number;
  tenants: number;
  warmUpSeconds: number;
  seconds: number;
  /** Requests per second on all connections together; without a rate, each connection sends as fast as it can. */
  rate?: number;
  /** Unique name for this measurement. */
  run: string;
}

export interface Measured {
  /** Requests per second after the warm-up. */
  rate: number;
  p50: number;
  p99: number;
  p999: number;
  /** Time for the slowest request. */
  max: number;
  requests: number;
  /** Number of requests, including the warm-up. */
  all: number;
  /** Number of requests with a status other than 2xx, with `is_error`, or without a response, including the warm-up. */
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

/** Runs the jobs that the parent process sends. Called in the child process. */
export function serveJobs(measure: (job: Job) => Promise<Measured>): void {
  process.on('message', async (job: Job) => {
    const result = await measure(job).catch((error: unknown) => ({ error: String(error) }));
    process.send?.(result);
  });
}
