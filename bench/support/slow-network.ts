/**
 * A TCP proxy to HOST:PORT that passes on requests NET_MS milliseconds late, and responses immediately. A client cannot
 * distinguish this from a network with half the delay in each direction. Sends its port to the parent process.
 */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A request chunk. A chunk without bytes ends the connection. */
interface Chunk {
  due: number;
  to: Socket;
  bytes?: Buffer;
}

/** Node's timers count whole milliseconds, so the process sleeps in steps while a chunk waits. */
const STEP_MS = 0.05;
const neverNotified = new Int32Array(new SharedArrayBuffer(4));

const { HOST = '', PORT, NET_MS } = process.env;
const waiting: Chunk[] = [];

function passOnLate(to: Socket, bytes?: Buffer): void {
  const due = performance.now() + Number(NET_MS);
  if (waiting.push({ due, to, ...(bytes && { bytes }) }) === 1) setImmediate(passOnDue);
}

function passOnDue(): void {
  const now = performance.now();
  while (waiting[0] !== undefined && waiting[0].due <= now) passOn(waiting.shift() as Chunk);
  if (waiting.length === 0) return;
  Atomics.wait(neverNotified, 0, 0, STEP_MS);
  setImmediate(passOnDue);
}

function passOn({ to, bytes }: Chunk): void {
  if (bytes === undefined) to.end();
  else to.write(bytes);
}

const proxy = createServer({ noDelay: true, allowHalfOpen: true }, (client) => {
  const database = connect({ host: HOST, port: Number(PORT), noDelay: true });
  client.on('data', (bytes) => passOnLate(database, bytes));
  client.on('end', () => passOnLate(database));
  client.on('error', () => database.destroy());
  database.on('error', () => client.destroy());
  database.pipe(client);
});
process.on('disconnect', () => process.exit());
proxy.listen(0, '127.0.0.1', () => process.send?.((proxy.address() as AddressInfo).port));
