/** Thousands of idle connections. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { Replica } from '../support/faults/replica.ts';
import {
  checkNoLeak,
  checkPostgres,
  createDatabase,
  type Environment,
  LIMITS,
  workloadOn,
} from './environment.ts';
import { Row } from './fault-report.ts';

export async function idleConnections({ postgres, option }: Environment): Promise<Row> {
  const count = option('IDLE_CONNECTIONS', 10_000);
  const row = new Row(`${count} idle connections to the service`);
  const database = await createDatabase(postgres);
  const url = postgres.url(postgres.port, database);
  const replica = await Replica.create({ DATABASE_URL: url, ...LIMITS });
  await replica.start();
  const before = residentMiB(replica.pid);
  const { hostname, port } = new URL(replica.url);
  const sockets: Socket[] = [];
  while (sockets.length < count) {
    // Groups of connections fit into the kernel's accept queue.
    const some = Array.from({ length: Math.min(200, count - sockets.length) }, () =>
      connect(Number(port), hostname).on('error', () => {}),
    );
    await Promise.all(some.map((socket) => once(socket, 'connect')));
    sockets.push(...some);
  }
  const workload = workloadOn(replica);
  workload.start();
  await workload.acknowledge(300);
  await workload.stop();
  row.times = 1;
  const open = sockets.filter((socket) => !socket.destroyed).length;
  row.notes.push(`${open} still open; RSS ${before} MiB before, ${residentMiB(replica.pid)} MiB with them`);
  for (const socket of sockets) socket.destroy();
  await checkPostgres(url, workload, row);
  await checkNoLeak([replica], postgres, database, row);
  await replica.end();
  return row;
}

export function residentMiB(pid: number): number {
  const [, kib] = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Math.round(Number(kib) / 1024);
}
