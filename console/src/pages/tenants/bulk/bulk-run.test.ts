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

it('continues with the next tenant after a failure, and starts no further tenant after an abort', async () => {
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

it('runs an action on several tenants at the same time, and only once on each tenant', async () => {
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

it('repeats a request if the service is busy or restarts', async () => {
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

it('marks a tenant as failed if the service stays busy, and stops if the service cannot be reached', async () => {
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

it('stops when the session ends, and marks no tenant as failed', async () => {
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
