/**
 * `npm run bench -- compare OTHER`: compares this checkout with another built checkout, on one Postgres in alternating
 * processes. Each checkout has a separate database, filled by its own code. Prints requests per second and the CPU time
 * per request in the service and in Postgres, as medians over the processes, and the ratios.
 *
 * Environment: ROUNDS (processes per side, 3), SECONDS, WARM_UP (seconds), CONNECTIONS, TENANTS; ONLY (comma-separated
 * names from `cases`); ENV_HERE and ENV_OTHER (comma-separated NAME=value pairs) for one side only; TEST_DATABASE_URL
 * and TEST_POSTGRES as for the tests.
 */
import { execFileSync } from 'node:child_process';
import { resolve } from 'node:path';
import { progress, setting, withCleanup } from './support/cleanup.ts';
import { LOAD_SETTINGS } from './support/contestants.ts';
import { LARGE_BYTES, SMALL_BYTES, text } from './support/data.ts';
import { Worker } from './support/job.ts';
import { startPostgres } from './support/postgres.ts';
import { databaseProcessorTime, root, runCli, serviceCommand, startServer } from './support/process.ts';
import { median } from './support/statistics.ts';
import { describeWorkload, type Workload, workloads } from './support/workloads.ts';

const ROUNDS = setting('ROUNDS', 3);
const SECONDS = setting('SECONDS', 3);
const WARM_UP = setting('WARM_UP', 1);
const CONNECTIONS = setting('CONNECTIONS', 32);
const TENANTS = setting('TENANTS', 1000);

interface Case {
  name: string;
  title: string;
  workload: Workload;
  tenants: number;
}

interface Side {
  rate: number;
  service: number;
  postgres: number;
  failures: number;
}

const cases: Case[] = [
  ...workloads.map((workload) => ({
    name: workload as string,
    title: describeWorkload[workload],
    workload,
    tenants: TENANTS,
  })),
  { name: 'create_one', title: 'create of a 1 KB file, one tenant', workload: 'create', tenants: 1 },
  { name: 'edit_one', title: describeWorkload.one_file, workload: 'one_file', tenants: 1 },
];
const only = process.env.ONLY?.split(',') ?? cases.map(({ name }) => name);
const other = process.argv[2];
if (other === undefined) throw new Error('Name the other checkout: npm run bench -- compare DIRECTORY');

const parseEnv = (name: string) =>
  Object.fromEntries((process.env[name] ?? '').split(',').flatMap((each) => (each ? [each.split('=')] : [])));
const sides = [
  { name: 'here', directory: root, env: parseEnv('ENV_HERE') },
  { name: 'other', directory: resolve(other), env: parseEnv('ENV_OTHER') },
];

/** Migrates and fills a database with a checkout's code. */
function fill(directory: string, env: Record<string, string>): void {
  const script = `const { prepare } = await import('./bench/support/contestants.ts');
    await prepare(${JSON.stringify(env)}, ${TENANTS});`;
  execFileSync(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', script], {
    cwd: directory,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}

await withCleanup(async (scratch, later) => {
  const server = await startPostgres(scratch);
  later(() => server.stop());
  progress(server.description);
  const databases = new Map<string, { url: string; key: string }>();
  for (const { name, directory } of sides) {
    const { url, query } = await server.createDatabase();
    const env = { DATABASE_URL: url };
    fill(directory, env);
    // Older bench versions fill other texts.
    for (const bytes of [SMALL_BYTES, LARGE_BYTES]) {
      await query(
        `UPDATE entries SET content = '${text(bytes).replaceAll("'", "''")}' WHERE size_bytes = ${bytes}`,
      );
    }
    await query('VACUUM FULL entries');
    databases.set(name, { url, key: runCli(['keys', 'create', '--service'], env, directory).trim() });
    await query('CHECKPOINT');
  }
  const load = new Worker('load.ts');
  later(() => load.stop());

  const turns: {
    of: string;
    side: string;
    rate: number;
    service: number;
    postgres: number;
    failures: number;
  }[] = [];
  const chosen = cases.filter(({ name }) => only.includes(name));
  for (let round = 0; round < ROUNDS; round++) {
    for (const { name: side, directory, env } of round % 2 === 0 ? sides : sides.toReversed()) {
      const { url, key } = databases.get(side) ?? { url: '', key: '' };
      const database = new URL(url).pathname.slice(1);
      const service = await startServer(serviceCommand(directory), {
        env: { ...LOAD_SETTINGS, DATABASE_URL: url, AUTH: 'keys', ...env },
        scratch,
        cwd: directory,
        name: `${side}-${round}`,
        ready: '/readyz',
      });
      for (const { name: turnValues, workload, tenants } of chosen) {
        const [usedByService, usedByPostgres] = [service.processorTime(), databaseProcessorTime(database)];
        const { rate, p99, all, failures } = await load.measure({
          workload,
          tenants,
          url: service.url,
          headers: { authorization: `Bearer ${key}` },
          keyed: false,
          connections: CONNECTIONS,
          warmUpSeconds: WARM_UP,
          seconds: SECONDS,
          run: `${turnValues}-${side}-${round}-${Date.now()}`,
        });
        const turn = {
          of: turnValues,
          side,
          rate,
          failures,
          service: (service.processorTime() - usedByService) / all,
          postgres: (databaseProcessorTime(database) - usedByPostgres) / all,
        };
        turns.push(turn);
        progress(
          `${round + 1}/${ROUNDS} ${turnValues} ${side}: ${rate.toFixed(0)}/s, p99 ${p99.toFixed(1)} ms, ${turn.service.toFixed(0)} + ${turn.postgres.toFixed(0)} µs, ${failures} failures`,
        );
      }
      await service.stop();
    }
  }
  console.log(
    '| | here | other | here ÷ other | µs here: service, Postgres | µs other | CPU here ÷ other | failures |',
  );
  console.log('|---|--:|--:|--:|--:|--:|--:|--:|');
  for (const { name, title } of chosen) {
    const [here, there] = sides.map((side) => {
      const own = turns.filter((turn) => turn.of === name && turn.side === side.name);
      const turnValues = (key: 'rate' | 'service' | 'postgres' | 'failures') => own.map((turn) => turn[key]);
      return {
        rate: median(turnValues('rate')),
        service: median(turnValues('service')),
        postgres: median(turnValues('postgres')),
        failures: turnValues('failures').reduce((sum, each) => sum + each, 0),
      };
    }) as [Side, Side];
    const cpu = (side: Side) => side.service + side.postgres;
    const ratio = (value: number) => value.toFixed(2);
    const formatMicros = ({ service, postgres }: Side) => `${service.toFixed(0)}, ${postgres.toFixed(0)}`;
    console.log(
      `| ${title} | ${here.rate.toFixed(0)} | ${there.rate.toFixed(0)} | ${ratio(here.rate / there.rate)} | ${formatMicros(here)} | ${formatMicros(there)} | ${ratio(cpu(here) / cpu(there))} | ${here.failures}, ${there.failures} |`,
    );
  }
});
