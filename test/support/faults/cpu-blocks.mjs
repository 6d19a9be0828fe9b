/**
 * Measures how long a service's main thread computes without a pause. Loaded with `node --import`. The measure is
 * processor time, so that other load on the machine has no effect. `GET` on the port `CPU_BLOCKS_PORT` returns the
 * longest block in milliseconds and resets it.
 */
import { createServer } from 'node:http';
import { isMainThread } from 'node:worker_threads';

const INTERVAL_MS = 1;

if (isMainThread) {
  const computedMs = () => {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1000;
  };
  let before = computedMs();
  let longest = 0;
  setInterval(() => {
    const now = computedMs();
    longest = Math.max(longest, now - before);
    before = now;
  }, INTERVAL_MS).unref();

  createServer((_request, response) => {
    response.setHeader('connection', 'close').end(String(longest));
    longest = 0;
  })
    .listen(Number(process.env.CPU_BLOCKS_PORT), '127.0.0.1')
    .unref();
}
