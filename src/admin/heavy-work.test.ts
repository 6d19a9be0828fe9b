import { availableParallelism } from 'node:os';
import { setImmediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { ServiceError } from '../errors/errors.ts';
import { HeavyWork } from './heavy-work.ts';

it('runs heavy work on half of the cores and removes clients that disconnect from the queue', async () => {
  const atOnce = Math.max(1, Math.floor(availableParallelism() / 2));
  const heavyWork = new HeavyWork();
  const started: number[] = [];
  const ends: (() => void)[] = [];
  const clients = Array.from({ length: atOnce + 2 }, () => new AbortController());
  const all = clients.map(({ signal }, i) =>
    heavyWork.run('acme', signal, () => {
      started.push(i);
      return new Promise<number>((resolve) => {
        ends[i] = () => resolve(i);
      });
    }),
  );
  await setImmediate();
  const first = Array.from({ length: atOnce }, (_, i) => i);
  expect(started).toStrictEqual(first);

  // The first client disconnects while its work runs, and the next client while it waits.
  clients[0]?.abort(new ServiceError('client_gone'));
  const left = expect(all[atOnce]).rejects.toThrow(new ServiceError('client_gone'));
  clients[atOnce]?.abort(new ServiceError('client_gone'));
  await left;
  expect(started).toStrictEqual(first);

  for (const i of first) ends[i]?.();
  await setImmediate();
  expect(started).toStrictEqual([...first, atOnce + 1]);
  ends[atOnce + 1]?.();
  expect(await Promise.allSettled(all)).toMatchObject([
    ...first.map((value) => ({ status: 'fulfilled', value })),
    { status: 'rejected' },
    { status: 'fulfilled', value: atOnce + 1 },
  ]);
});
