import { availableParallelism } from 'node:os';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { ServiceError } from '../errors/errors.ts';
import { HeavyWork } from './heavy-work.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => void vi.useRealTimers());

const OF_ONE_CALLER = Math.max(1, Math.floor(availableParallelism() / 2));
const MAX_WAIT_MS = 20_000;

const endless = () => new Promise<never>(() => {});
const code = (work: Promise<unknown>) => work.catch((error: ServiceError) => error.code);
const run = (heavyWork: HeavyWork, caller: string) =>
  heavyWork.run(caller, async () => caller, new AbortController().signal);

it("limits one caller's heavy work to half the cores, so that another caller's work runs", async () => {
  const heavyWork = new HeavyWork(MAX_WAIT_MS);
  const { signal } = new AbortController();
  for (let i = 0; i < OF_ONE_CALLER; i++) void heavyWork.run('busy', endless, signal);
  const rejected = code(run(heavyWork, 'busy'));
  expect(await run(heavyWork, 'other')).toBe('other');
  expect(heavyWork.current).toMatchObject({ inFlight: OF_ONE_CALLER, waiting: 1 });
  await vi.advanceTimersByTimeAsync(MAX_WAIT_MS);
  expect(await rejected).toBe('too_many_at_once');
});

it('removes a client that disconnects from the queue for heavy work', async () => {
  const heavyWork = new HeavyWork(MAX_WAIT_MS);
  for (let i = 0; i < OF_ONE_CALLER; i++) void heavyWork.run('busy', endless, new AbortController().signal);
  const client = new AbortController();
  const waiting = code(heavyWork.run('busy', endless, client.signal));
  client.abort();
  expect(await waiting).toBe('client_gone');
  expect(heavyWork.current).toMatchObject({ inFlight: OF_ONE_CALLER, waiting: 0 });
});
