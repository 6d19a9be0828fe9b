import { ApiError, errorMessage } from '../../../api/api-client.ts';
import { delay } from '../../../api/retry.ts';
import type { Target } from './targets.ts';

/** An action's result for one tenant. */
export interface Outcome {
  target: Target;
  /** `skipped`: the tenant was already in the wanted state. `stopped`: the action stopped before the tenant. */
  result: 'done' | 'skipped' | 'failed' | 'stopped';
  /** Reason for a failure, otherwise empty. */
  reason: string;
}

/** Whether the action needs no further attempt for a tenant. */
export const isOver = ({ result }: Outcome) => result === 'done' || result === 'skipped';

export interface Run {
  targets: readonly Target[];
  /** Returns `skipped` if the tenant is already in the wanted state. Can be repeated after a lost response. */
  work: (target: Target, signal: AbortSignal) => Promise<unknown>;
  /** Maximum number of tenants at a time. */
  atOnce: number;
  /** @param waiting the number of tenants that wait because the service is busy or does not respond */
  onProgress: (finished: number, waiting: number) => void;
  /** Stops the action before the next tenant. */
  signal: AbortSignal;
  /** Waiting time before a retry, in milliseconds. */
  delayMs?: (retries: number) => number;
}

export interface RunResult {
  outcomes: Outcome[];
  /** Reason for which no further tenant can succeed, or null. */
  interruption: string | null;
}

/** Maximum number of retries for one tenant while the service is busy. */
const BUSY_RETRIES = 5;
/** Maximum number of retries while the service does not respond: five minutes, longer than a restart. */
const UNREACHABLE_RETRIES = 32;
const retryDelayMs = (retries: number) => Math.min(1000 * 2 ** retries, 10_000);

/** An error that each further tenant would also have. */
class Interruption extends Error {}

/**
 * Applies `work` to each tenant. After a failure, continues with the next tenant. While the service does not respond,
 * waits for it.
 */
export async function runForEach(run: Run): Promise<RunResult> {
  const { targets, atOnce, onProgress } = run;
  const interrupted = new AbortController();
  const stop = AbortSignal.any([run.signal, interrupted.signal]);
  const outcomes: Outcome[] = [];
  const queue = targets.values();
  let interruption: string | null = null;
  let finished = 0;
  let waiting = 0;
  const report = () => onProgress(finished, waiting);
  const onWait = (change: 1 | -1) => {
    waiting += change;
    report();
  };
  const worker = async () => {
    for (const target of queue) {
      if (stop.aborted) {
        outcomes.push(stoppedOutcome(target));
        continue;
      }
      try {
        outcomes.push(await processTarget(target, run, stop, onWait));
        finished++;
      } catch (error) {
        if (!(error instanceof Interruption)) throw error;
        interruption = error.message;
        interrupted.abort();
        outcomes.push(stoppedOutcome(target));
      }
      report();
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return { outcomes, interruption };
}

const stoppedOutcome = (target: Target): Outcome => ({ target, result: 'stopped', reason: '' });

/** @throws Interruption */
async function processTarget(
  target: Target,
  { work, signal, delayMs = retryDelayMs }: Run,
  stop: AbortSignal,
  onWait: (change: 1 | -1) => void,
): Promise<Outcome> {
  for (let retries = 0; ; retries++) {
    try {
      const result = (await work(target, signal)) === 'skipped' ? 'skipped' : 'done';
      return { target, result, reason: '' };
    } catch (error) {
      if (stop.aborted) return stoppedOutcome(target);
      if (hasEndedSession(error)) throw new Interruption('Your session ended.');
      if (isUnreachable(error) && retries >= UNREACHABLE_RETRIES) throw new Interruption(errorMessage(error));
      if (!isUnreachable(error) && !(isBusy(error) && retries < BUSY_RETRIES))
        return { target, result: 'failed', reason: errorMessage(error) };
    }
    onWait(1);
    await delay(delayMs(retries), stop).catch(() => {});
    onWait(-1);
    if (stop.aborted) return stoppedOutcome(target);
  }
}

const hasEndedSession = (error: unknown) =>
  error instanceof ApiError && (error.status === 401 || error.code === 'not_an_admin_key');
const isBusy = (error: unknown) =>
  error instanceof ApiError && (error.status === 429 || error.status === 503);
/** Whether no response from the service arrived. A proxy responds with 502 or 504 while the service restarts. */
const isUnreachable = (error: unknown) =>
  error instanceof TypeError || (error instanceof ApiError && (error.status === 502 || error.status === 504));
