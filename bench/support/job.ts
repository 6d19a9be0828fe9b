import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Workload } from './workloads.ts';

/** One measurement: a workload against one contestant. */
export interface Job {
  workload: Workload;
  /** Of the service, or of the database for the driver alone. */
  url: string;
  headers: Record<string, string>;
  /** Whether writes come with an idempotency key. */
  keyed: boolean;
  connections: number;
  tenants: number;
  warmUpSeconds: number;
  seconds: number;
  /** Names this measurement. */
  run: string;
}

export interface Measured {
  /** Requests a second, after the warm-up. */
  rate: number;
  p50: number;
  p99: number;
  requests: number;
  /** Requests with those of the warm-up. */
  all: number;
  /** Answers that were not 2xx, or said `is_error`, or did not come; the warm-up's included. */
  failures: number;
}

/** A process of its own that takes jobs one after the other. */
export class Worker {
  readonly #child: ChildProcess;

  /** @param script beside this folder, e.g. `load.ts` */
  constructor(script: string) {
    const file = fileURLToPath(new URL(`../${script}`, import.meta.url));
    this.#child = fork(file, [], { execArgv: ['--import', 'tsx'] });
  }

  measure(job: Job): Promise<Measured> {
    return new Promise((resolve, reject) => {
      const onExit = () => reject(new Error(`The load of ${job.run} ended early.`));
      this.#child.once('exit', onExit);
      this.#child.once('message', (answer: Measured | { error: string }) => {
        this.#child.off('exit', onExit);
        if ('error' in answer) reject(new Error(answer.error));
        else resolve(answer);
      });
      this.#child.send(job);
    });
  }

  stop(): void {
    this.#child.kill();
  }
}

/** The other side: takes jobs from the parent process. */
export function serveJobs(measure: (job: Job) => Promise<Measured>): void {
  process.on('message', async (job: Job) => {
    const answer = await measure(job).catch((error: unknown) => ({ error: String(error) }));
    process.send?.(answer);
  });
}
