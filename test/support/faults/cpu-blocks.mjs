/**
 * Loaded by `node --import` into a service that is measured: finds how long the main thread computed without letting
 * anything else run. It counts processor time, so that a busy machine lengthens nothing. `GET` on the port
 * `CPU_BLOCKS_PORT` returns the longest block in milliseconds, and starts anew.
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
