import { Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import type { ConnectionError } from 'fastify';
import { expect, it } from 'vitest';
import { respondToClientError } from './connections.ts';

it('closes overdue connections one per event loop turn, but other failed connections immediately', async () => {
  const closed = async (code: string) => {
    const sockets = [1, 2, 3].map(() => new Socket().on('error', () => {}));
    const count = () => sockets.filter(({ destroyed }) => destroyed).length;
    const error = Object.assign(new Error(), { code }) as ConnectionError;
    for (const socket of sockets) respondToClientError(error, socket);
    const counts = [count()];
    while (counts.at(-1) !== 3) {
      await setImmediate();
      counts.push(count());
    }
    return counts;
  };
  expect(await closed('ERR_HTTP_REQUEST_TIMEOUT')).toStrictEqual([0, 1, 2, 3]);
  expect(await closed('HPE_INVALID_METHOD')).toStrictEqual([3]);
});
