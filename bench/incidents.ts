/**
 * `npm run bench -- incidents`: measures finds in many tenants and a revert of many files. A find reads all tenants in
 * the background; its service is killed and started again meanwhile. Then the other requests' p99 beside a find is
 * compared with the p99 alone, in alternating turns. Prints Markdown.
 *
 * Environment: TENANTS (10000), ROUNDS (4), SECONDS (10), RATE (requests per second, 200), CONNECTIONS (16), REVERTED
 * (files, 10000), BYTES per reverted file (1024), ONLY (find,revert); TEST_DATABASE_URL and TEST_POSTGRES as for the
 * tests.
 *
 * Each tenant has 100 files. In a tenth of the tenants, each file has a superseded version.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { progress, setting, withCleanup } from './support/cleanup.ts';
import { LOAD_SETTINGS, prepare } from './support/contestants.ts';
import { FILES_PER_TENANT } from './support/data.ts';
import { measureRevert } from './support/incident-revert.ts';
import { type Measured, Worker } from './support/job.ts';
import { type BenchDatabase, startPostgres } from './support/postgres.ts';
import { freePort, runCli, SERVICE, type Server, startServer } from './support/process.ts';
import { median } from './support/statistics.ts';

const TENANTS = setting('TENANTS', 10_000);
const ROUNDS = setting('ROUNDS', 4);
const SECONDS = setting('SECONDS', 10);
const RATE = setting('RATE', 200);
const CONNECTIONS = setting('CONNECTIONS', 16);
const REVERTED = setting('REVERTED', 10_000);
const BYTES = setting('BYTES', 1024);
const only = process.env.ONLY?.split(',') ?? ['find', 'revert'];

/** The text spans the part that a superseded version has replaced, and the part before it. */
const PLANTED = '# obey the planted';
const HITS = Math.floor((TENANTS + 2) / 10) * FILES_PER_TENANT;
const MIB = 2 ** 20;

interface Job {
  id: string;
  state: string;
  tenants_done: number;
  counts: Record<string, number>;
  is_exact: boolean;
}

await withCleanup(async (scratch, later) => {
  const server = await startPostgres(scratch);
  later(() => server.stop());
  console.log(
    `${server.description}. TENANTS=${TENANTS}, ROUNDS=${ROUNDS}, SECONDS=${SECONDS}, RATE=${RATE}.\n`,
  );
  if (only.includes('revert')) {
    const costs = await measureRevert((await server.createDatabase()).url, REVERTED, BYTES);
    console.log(`| ${REVERTED} merged files of ${BYTES} bytes | seconds | longest delay, ms | memory, MiB |`);
    console.log('|---|--:|--:|--:|');
    for (const { step, seconds, longestDelayMs, memoryMiB } of costs)
      console.log(
        `| ${step} | ${seconds.toFixed(1)} | ${longestDelayMs.toFixed(0)} | ${memoryMiB.toFixed(0)} |`,
      );
    console.log();
  }
  if (!only.includes('find')) return;
  const database = await server.createDatabase();
  await fill(database);
  const adminKey = runCli(['keys', 'create', '--admin'], { DATABASE_URL: database.url }).trim();
  const adminPort = await freePort();
  const start = () =>
    startServer(SERVICE, {
      env: { ...LOAD_SETTINGS, DATABASE_URL: database.url, AUTH: 'none', ADMIN_PORT: String(adminPort) },
      scratch,
      name: 'service',
      ready: '/readyz',
    });
  let service = await start();
  later(() => service.stop());
  const call = async (method: string, path: string, body?: object): Promise<Job> => {
    const response = await fetch(`http://127.0.0.1:${adminPort}/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${path} returned ${response.status}: ${await response.text()}`);
    return (await response.json()) as Job;
  };
  const startFind = () => call('POST', '/find', { text: PLANTED });

  await delay(3000);
  service = await findAll({ service, restart: start, call, startFind });
  const cancelled = await startFind();
  await waitUntil(async () => (await call('GET', `/jobs/${cancelled.id}`)).tenants_done > 0);
  const cancelledAt = performance.now();
  const { state } = await call('POST', `/jobs/${cancelled.id}/cancel`);
  if (state !== 'cancelled') throw new Error(`The job is ${state}`);
  console.log(`Cancelled in ${(performance.now() - cancelledAt).toFixed(0)} ms.\n`);

  const load = new Worker('load.ts');
  later(() => load.stop());
  const measure = (run: string) =>
    load.measure({
      workload: 'mix',
      url: service.url,
      headers: {},
      keyed: false,
      connections: CONNECTIONS,
      tenants: Math.min(TENANTS, 100),
      warmUpSeconds: 2,
      seconds: SECONDS,
      rate: RATE,
      run: `${run}-${Date.now()}`,
    });
  const turns: Record<'alone' | 'beside', Measured[]> = { alone: [], beside: [] };
  for (let round = 0; round < ROUNDS; round++) {
    for (const side of round % 2 === 0 ? (['alone', 'beside'] as const) : (['beside', 'alone'] as const)) {
      const job = side === 'beside' ? await startFind() : undefined;
      if (job) await waitUntil(async () => (await call('GET', `/jobs/${job.id}`)).tenants_done > 0);
      const measured = await measure(side);
      if (measured.failures > 0) throw new Error(`${measured.failures} requests failed`);
      turns[side].push(measured);
      progress(
        `${round + 1}/${ROUNDS} ${side}: p50 ${measured.p50.toFixed(1)} ms, p99 ${measured.p99.toFixed(1)} ms`,
      );
      if (job) await call('POST', `/jobs/${job.id}/cancel`);
      await delay(1500);
    }
  }
  console.log(`| other tenants, ${RATE} requests/s | p50, ms | p99, ms | longest, ms |\n|---|--:|--:|--:|`);
  const medianTurn = (side: keyof typeof turns, key: 'p50' | 'p99' | 'max') =>
    median(turns[side].map((each) => each[key]));
  for (const side of ['alone', 'beside'] as const)
    console.log(
      `| ${side === 'alone' ? 'alone' : 'beside a find'} | ${(['p50', 'p99', 'max'] as const).map((key) => medianTurn(side, key).toFixed(1)).join(' | ')} |`,
    );
  console.log(
    `\np99 beside a find ÷ alone: ${(medianTurn('beside', 'p99') / medianTurn('alone', 'p99')).toFixed(1)}`,
  );
});

/** Creates the tenants and files, and superseded versions with the text in a tenth of the tenants. */
async function fill({ url, query }: BenchDatabase): Promise<void> {
  const startedAt = performance.now();
  await prepare({ DATABASE_URL: url }, TENANTS);
  await query(
    `INSERT INTO versions (
      tenant_id, id, memory_id, operation, path, created_at, superseded_at, size_bytes, content_sha256, content,
      splice_start, splice_length, bytes
    )
    SELECT tenant_id, memory_version_id(memory_id_prefix(now() - interval '1 day'), gen_random_uuid()), memory_id, 'created', path,
      now() - interval '1 day', changed_at, size_bytes + 11, memory_sha256(overlay(content placing 'obey the planted' from 3 for 5)),
      'obey the planted', 2, 5, memory_version_bytes(tenant_id, path, origin, 'obey the planted')
    FROM entries WHERE kind = 'file' AND tenant_id LIKE 't%7'`,
  );
  await query(`UPDATE tenants AS t SET history_versions = kept.versions, history_bytes = kept.bytes
    FROM (SELECT tenant_id, count(*) AS versions, sum(bytes) AS bytes FROM versions GROUP BY 1) AS kept WHERE kept.tenant_id = t.id`);
  await query('VACUUM ANALYZE');
  await query('CHECKPOINT');
  const [row] = await query(
    'SELECT (SELECT count(*) FROM entries WHERE memory_id IS NOT NULL) + (SELECT count(*) FROM versions) AS count',
  );
  console.log(
    `${TENANTS} tenants with ${row?.count} versions, created in ${formatSecondsSince(startedAt)} s.\n`,
  );
}

/** Finds the text in all tenants, and kills the service after a third of the tenants. */
async function findAll(options: {
  service: Server;
  restart: () => Promise<Server>;
  call: (method: string, path: string) => Promise<Job>;
  startFind: () => Promise<Job>;
}): Promise<Server> {
  const { restart, call, startFind } = options;
  let { service } = options;
  const idle = service.memory();
  let most = 0;
  const startedAt = performance.now();
  const { id } = await startFind();
  const read = async () => {
    most = Math.max(most, service.memory() - idle);
    return call('GET', `/jobs/${id}`);
  };
  const reached = await waitUntil(async () => {
    const job = await read();
    return job.tenants_done > TENANTS / 3 && job;
  });
  await service.kill();
  const killedAt = performance.now();
  service = await restart();
  await waitUntil(async () => (await read()).tenants_done > reached.tenants_done);
  const resumed = formatSecondsSince(killedAt);
  const done = await waitUntil(async () => {
    const job = await read();
    return job.state === 'done' && job;
  });
  const { hits, versions } = done.counts;
  if (hits !== HITS || !done.is_exact)
    throw new Error(`Found ${hits} of ${HITS} hits, exact: ${done.is_exact}`);
  console.log(
    `Find in ${TENANTS} tenants, ${versions} versions: ${hits} hits in ${formatSecondsSince(startedAt)} s, with a kill -9 after ${reached.tenants_done} tenants; continued ${resumed} s after the kill. Memory: ${(most / MIB).toFixed(0)} MiB more than idle (${(idle / MIB).toFixed(0)} MiB).\n`,
  );
  return service;
}

/** Polls until a condition holds. */
async function waitUntil<T>(condition: () => Promise<T | false>): Promise<T> {
  for (;;) {
    const value = await condition();
    if (value) return value;
    await delay(200);
  }
}

function formatSecondsSince(since: number): string {
  return ((performance.now() - since) / 1000).toFixed(1);
}
