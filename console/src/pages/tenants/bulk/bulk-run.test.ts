import { expect, it } from 'vitest';
import { ApiError } from '../../../api/api-client.ts';
import { type Run, runForEach } from './bulk-run.ts';
import type { Target } from './targets.ts';

const target = (id: string) => ({ id, status: 'active', files: 0 }) as Target;

/** Runs an action on tenants named by letters, one at a time, without delays. */
async function run(ids: string, work: Run['work'], more: Partial<Run> = {}) {
  const { outcomes, interruption } = await runForEach({
    targets: [...ids].map(target),
    work,
    atOnce: 1,
    onProgress: () => {},
    signal: new AbortController().signal,
    delayMs: () => 0,
    ...more,
  });
  const rows = outcomes.map(({ target: { id }, result, reason }) => [id, result, reason]);
  return { rows, interruption };
}

const busy = new ApiError(503, { detail: 'Too many requests.' });

it('continues an action after a failure, and stops before the next tenant when it is aborted', async () => {
  const controller = new AbortController();
  const progress: number[] = [];
  const { rows, interruption } = await run(
    'abcde',
    async ({ id }) => {
      if (id === 'b') throw new ApiError(409, { detail: 'The tenant is archived.' });
      if (id === 'c') return 'skipped';
      if (id === 'd') controller.abort();
      return 'anything';
    },
    { onProgress: (finished) => progress.push(finished), signal: controller.signal },
  );
  expect(rows).toStrictEqual([
    ['a', 'done', ''],
    ['b', 'failed', 'The tenant is archived.'],
    ['c', 'skipped', ''],
    ['d', 'done', ''],
    ['e', 'stopped', ''],
  ]);
  expect([progress, interruption]).toStrictEqual([[1, 2, 3, 4], null]);
});

it('runs an action on several tenants at a time, once on each', async () => {
  let running = 0;
  let most = 0;
  const seen: string[] = [];
  const ids = 'abcdefghijklmnopqrst';
  await run(
    ids,
    async ({ id }) => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setImmediate(resolve));
      running--;
      seen.push(id);
    },
    { atOnce: 4 },
  );
  expect(most).toBe(4);
  expect(seen.sort().join('')).toBe(ids);
});

it('waits for a service that is busy or restarts, and repeats the request', async () => {
  const errors: Record<string, unknown[]> = {
    a: [new TypeError('no connection'), new ApiError(502, {}), busy],
    b: [new ApiError(429, {})],
  };
  const waiting = new Set<number>();
  const { rows } = await run(
    'ab',
    async ({ id }) => {
      const error = errors[id]?.shift();
      if (error !== undefined) throw error;
    },
    { onProgress: (_, waits) => waiting.add(waits) },
  );
  expect(rows).toStrictEqual([
    ['a', 'done', ''],
    ['b', 'done', ''],
  ]);
  expect([...waiting].sort()).toStrictEqual([0, 1]);
});

it('fails a tenant for which the service stays busy, and stops when the service is away', async () => {
  const { rows, interruption } = await run('abc', async ({ id }) => {
    throw id === 'a' ? busy : new TypeError('no connection');
  });
  expect(rows).toStrictEqual([
    ['a', 'failed', 'Too many requests.'],
    ['b', 'stopped', ''],
    ['c', 'stopped', ''],
  ]);
  expect(interruption).toBe('The service cannot be reached. Check the connection and try again.');
});

it('stops without failures when the session ends', async () => {
  const { rows, interruption } = await run('abc', async ({ id }) => {
    if (id !== 'a') throw new ApiError(401, { detail: 'No valid key.' });
  });
  expect(rows).toStrictEqual([
    ['a', 'done', ''],
    ['b', 'stopped', ''],
    ['c', 'stopped', ''],
  ]);
  expect(interruption).toBe('Your session ended.');
});
