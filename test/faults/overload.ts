/**
 * `npx tsx test/faults/overload.ts`, after `npm run build`: measures the service above its capacity and the memory that
 * large files need. It is a measurement, not a test. SECONDS (8) is the duration of a load, and ROUNDS (3) and
 * BIG_ROUNDS (4) are the numbers of rounds with small and large files.
 */
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { PostgresServer } from '../support/faults/postgres-server.ts';
import { Replica } from '../support/faults/replica.ts';
import { installBinaries } from '../support/postgres/binaries.ts';
import { cmd } from '../support/step-table.ts';
import { residentMiB } from './clients.ts';

const SECONDS = Number(process.env.SECONDS ?? 8);
const ROUNDS = Number(process.env.ROUNDS ?? 3);
/** Maximum number of requests in flight, the service's default. An overload uses four times as many clients. */
const PLACES = Number(process.env.PLACES ?? 64);
const BIG_ROUNDS = Number(process.env.BIG_ROUNDS ?? 4);
const TENANTS = 32;

interface Measured {
  perSecond: number;
  shed: number;
  other: number;
  p50: number;
  p99: number;
  peakMiB: number;
}

/** Runs clients that each send one request at a time and retry rejected requests after `backoffMs`. */
async function load(
  replica: Replica,
  clients: number,
  next: (client: number) => object,
  backoffMs: number,
  until: () => boolean,
): Promise<Measured> {
  const agent = new Agent({ keepAlive: true, maxSockets: Infinity });
  const times: number[] = [];
  let shed = 0;
  let other = 0;
  let peakMiB = 0;
  let done = false;
  const watching = (async () => {
    for (; !done; await delay(50)) peakMiB = Math.max(peakMiB, residentMiB(replica.pid));
  })();
  const started = performance.now();
  let lastAnswer = started;
  await Promise.all(
    Array.from({ length: clients }, async (_, client) => {
      while (!until()) {
        const sent = performance.now();
        const status = await post(replica.url, agent, `tenant-${client % TENANTS}`, next(client));
        if (status === 200) {
          lastAnswer = performance.now();
          times.push(lastAnswer - sent);
        } else if (status === 503 || status === 429) {
          shed++;
          await delay(backoffMs * (0.5 + Math.random()));
        } else other++;
      }
    }),
  );
  // Measured up to the last response, because some clients still wait for their Retry-After at the end.
  const seconds = (lastAnswer - started) / 1000;
  done = true;
  await watching;
  agent.destroy();
  times.sort((a, b) => a - b);
  const quantile = (q: number) => Math.round(times[Math.floor(times.length * q)] ?? 0);
  return {
    perSecond: Math.round(times.length / seconds),
    shed,
    other,
    p50: quantile(0.5),
    p99: quantile(0.99),
    peakMiB,
  };
}

function post(url: string, agent: Agent, tenant: string, input: object): Promise<number> {
  const body = JSON.stringify(input);
  const headers = {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    'x-tenant-id': tenant,
  };
  return new Promise((resolve) => {
    const sent = request(`${url}/execute`, { agent, method: 'POST', headers }, (answer) => {
      answer.resume().on('end', () => resolve(answer.statusCode ?? 0));
    });
    sent.on('error', () => resolve(0));
    sent.end(body);
  });
}

/**
 * Pins the clients to the last core, and the service and Postgres to the others (Linux only), so that rejected clients
 * do not use the service's CPU time.
 */
const cores = cpus().length;
const serverCores = cores > 1 ? `0-${cores - 2}` : '0';
const clientCore = String(cores - 1);
let isPinned = true;
function pinTo(list: string): void {
  try {
    execFileSync('taskset', ['--all-tasks', '--cpu-list', '--pid', list, String(process.pid)], {
      stdio: 'ignore',
    });
  } catch {
    isPinned = false;
  }
}

const seconds = (s: number) => {
  const end = performance.now() + s * 1000;
  return () => performance.now() > end;
};
const smallInput = () => cmd.create(`/memories/${randomUUID()}`, 'x'.repeat(500));
const line = (title: string, m: Measured) =>
  console.log(
    `| ${title} | ${m.perSecond} | ${m.p50} ms | ${m.p99} ms | ${m.shed} | ${m.other} | ${m.peakMiB} MiB |`,
  );

// Processes that start from here on inherit these cores.
pinTo(serverCores);
const scratch = await mkdtemp(join(tmpdir(), 'memory-service-overload-'));
const postgres = await PostgresServer.create({
  binaries: await installBinaries(scratch),
  directory: join(scratch, 'postgres'),
});
try {
  const replica = await Replica.create({
    DATABASE_URL: postgres.url(),
    MAX_IN_FLIGHT: String(PLACES),
    MAX_TENANT_FILES: '0',
    MAX_TENANT_BYTES: '0',
  });
  await replica.start();
  pinTo(clientCore);
  console.log(
    isPinned
      ? `Clients on core ${clientCore}; the service and Postgres on ${serverCores}.\n`
      : 'Clients, service and Postgres share all cores.\n',
  );
  console.log('| load | answers per second | p50 | p99 | shed | other answers | peak RSS |');
  console.log('| --- | ---: | ---: | ---: | ---: | ---: | ---: |');
  line('(warm-up)', await load(replica, 16, smallInput, 100, seconds(SECONDS / 2)));
  const sums = { carried: 0, obeying: 0, hammering: 0 };
  // Alternates the loads, so that other activity on the machine affects all loads.
  for (let round = 0; round < ROUNDS; round++) {
    const carried = await load(replica, PLACES, smallInput, 1000, seconds(SECONDS));
    line(`${PLACES} clients, each with a slot`, carried);
    const obeying = await load(replica, 4 * PLACES, smallInput, 1000, seconds(SECONDS));
    line(`${4 * PLACES} clients that honor Retry-After`, obeying);
    const hammering = await load(replica, 4 * PLACES, smallInput, 100, seconds(SECONDS));
    line(`${4 * PLACES} clients that retry after 100 ms`, hammering);
    sums.carried += carried.perSecond;
    sums.obeying += obeying.perSecond;
    sums.hammering += hammering.perSecond;
  }
  const percent = (sum: number) => `${Math.round((100 * sum) / sums.carried)} %`;
  console.log(
    `\n4 × the clients: ${percent(sums.obeying)} of the throughput; when they ignore Retry-After ${percent(sums.hammering)}\n`,
  );
  await replica.end();

  const big = await Replica.create({
    DATABASE_URL: postgres.url(),
    MAX_VIEW_CHARS: '0',
    MAX_TENANT_BYTES: '0',
  });
  pinTo(serverCores);
  await big.start();
  pinTo(clientCore);
  const before = residentMiB(big.pid);
  const text = 'all work and no play makes a dull file\n'.repeat(26_886).slice(0, 1024 * 1024);
  await load(big, TENANTS, () => cmd.create('/memories/big', text), 100, onceEach(TENANTS));
  const turns = new Map<number, number>();
  const mixedInput = (client: number) => {
    const turn = (turns.get(client) ?? client) + 1;
    turns.set(client, turn);
    return turn % 2 ? cmd.view('/memories/big') : cmd.create(`/memories/${randomUUID()}`, text);
  };
  console.log('| large files | answers per second | p50 | p99 | shed | other answers | peak RSS |');
  console.log('| --- | ---: | ---: | ---: | ---: | ---: | ---: |');
  for (let round = 0; round < BIG_ROUNDS; round++)
    line(`64 clients, 1 MiB, round ${round + 1}`, await load(big, 64, mixedInput, 100, seconds(SECONDS)));
  console.log(`\nRSS before large files ${before} MiB, after ${residentMiB(big.pid)} MiB`);
  await big.end();
} finally {
  await postgres.stop('immediate');
  await rm(scratch, { recursive: true, force: true });
}

/** Returns a function that ends the load after one request per client. */
function onceEach(clients: number): () => boolean {
  let asked = 0;
  return () => ++asked > clients;
}
