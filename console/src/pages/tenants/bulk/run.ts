import { messageOf } from '../../../api/client.ts';
import type { Target } from './targets.ts';

/** Result of an action for one tenant. */
export interface Outcome {
  target: Target;
  /** `skipped`: the tenant was already in the wanted state. `stopped`: the user stopped the action before. */
  result: 'done' | 'skipped' | 'failed' | 'stopped';
  /** Reason of a failure, otherwise empty. */
  reason: string;
}

export interface Run {
  targets: readonly Target[];
  /** Returns `skipped` if the tenant is already in the wanted state. */
  work: (target: Target, signal: AbortSignal) => Promise<unknown>;
  /** Maximum number of tenants at a time. */
  atOnce: number;
  onProgress: (finished: number) => void;
  signal: AbortSignal;
}

/** Applies `work` to each tenant. After a failure, continues with the next tenant. */
export async function runForEach({ targets, work, atOnce, onProgress, signal }: Run): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  const queue = targets.values();
  let finished = 0;
  const worker = async () => {
    for (const target of queue) {
      outcomes.push(await outcomeOf(target, work, signal));
      onProgress(++finished);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return outcomes;
}

async function outcomeOf(target: Target, work: Run['work'], signal: AbortSignal): Promise<Outcome> {
  if (signal.aborted) return { target, result: 'stopped', reason: '' };
  try {
    return { target, result: (await work(target, signal)) === 'skipped' ? 'skipped' : 'done', reason: '' };
  } catch (error) {
    if (signal.aborted) return { target, result: 'stopped', reason: '' };
    return { target, result: 'failed', reason: messageOf(error) };
  }
}
