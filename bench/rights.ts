/**
 * `npm run bench -- rights`: compares calls with a key that has 32 rights by path with calls with a key that has none.
 * Both keys call one service process, in alternating turns. Prints requests per second and the CPU time per request in
 * the service and in Postgres as Markdown, as medians over the turns. Environment: ROUNDS (turns of each key, 6),
 * SECONDS, WARM_UP (seconds), CONNECTIONS, TENANTS; TEST_DATABASE_URL and TEST_POSTGRES as for the tests.
 */
import { progress, setting, withCleanup } from './support/cleanup.ts';
import { LOAD_SETTINGS, prepare } from './support/contestants.ts';
import { Worker } from './support/job.ts';
import { startPostgres } from './support/postgres.ts';
import { databaseProcessorTime, runCli, SERVICE, startServer } from './support/process.ts';
import { median } from './support/statistics.ts';
import { describeWorkload, type Workload } from './support/workloads.ts';

const ROUNDS = setting('ROUNDS', 6);
const SECONDS = setting('SECONDS', 2);
const WARM_UP = setting('WARM_UP', 1);
const CONNECTIONS = setting('CONNECTIONS', 32);
const TENANTS = setting('TENANTS', 100);

const WORKLOADS: Workload[] = ['view', 'directory', 'create'];

/** 32 rights: the load's files are writable, and other directories are hidden or read-only. */
const RIGHTS = Array.from({ length: 32 }, (_, i) =>
  i === 0 ? '/memories=read_write' : `/memories/area-${i}/${i}=${i % 2 === 0 ? 'none' : 'read_only'}`,
);

await withCleanup(async (scratch, later) => {
  const server = await startPostgres(scratch);
  later(() => server.stop());
  const { url, query } = await server.createDatabase();
  const env = { DATABASE_URL: url };
  await prepare(env, TENANTS);
  await query('VACUUM FULL entries');
  const createKey = (...options: string[]) => runCli(['keys', 'create', '--service', ...options], env).trim();
  const keys = {
    without: createKey(),
    with: createKey(...RIGHTS.flatMap((right) => ['--right', right])),
  };
  const service = await startServer(SERVICE, {
    env: { ...LOAD_SETTINGS, ...env, AUTH: 'keys' },
    scratch,
    name: 'service',
    ready: '/readyz',
  });
  later(() => service.stop());
  const load = new Worker('load.ts');
  later(() => load.stop());
  const database = new URL(url).pathname.slice(1);

  async function measure(workload: Workload, key: string, run: string) {
    const [usedByService, usedByPostgres] = [service.processorTime(), databaseProcessorTime(database)];
    const { rate, all, failures } = await load.measure({
      workload,
      tenants: TENANTS,
      url: service.url,
      headers: { authorization: `Bearer ${key}` },
      keyed: false,
      connections: CONNECTIONS,
      warmUpSeconds: WARM_UP,
      seconds: SECONDS,
      run: `${run}-${Date.now()}`,
    });
    if (failures > 0) throw new Error(`${failures} of ${all} calls failed in ${run}.`);
    return {
      rate,
      service: (service.processorTime() - usedByService) / all,
      postgres: (databaseProcessorTime(database) - usedByPostgres) / all,
    };
  }

  console.log(`${server.description}. ${RIGHTS.length} rights, ${CONNECTIONS} connections.\n`);
  console.log(
    '| Call | without rights, /s | with rights, /s | ratio | CPU of the service | CPU of Postgres |',
  );
  console.log('|:--|--:|--:|--:|--:|--:|');
  for (const workload of WORKLOADS) {
    const turns = { without: [] as Turn[], with: [] as Turn[] };
    for (let round = 0; round < ROUNDS; round++) {
      const order = ['without', 'with'] as const;
      for (const side of round % 2 === 0 ? order : order.toReversed()) {
        const turn = await measure(workload, keys[side], `${workload}-${side}-${round}`);
        progress(`${round + 1}/${ROUNDS} ${workload} ${side}: ${turn.rate.toFixed(0)}/s`);
        turns[side].push(turn);
      }
    }
    const of = (side: 'without' | 'with', value: keyof Turn) =>
      median(turns[side].map((turn) => turn[value]));
    const ratio = (value: keyof Turn) => (of('with', value) / of('without', value)).toFixed(2);
    console.log(
      `| ${describeWorkload[workload]} | ${of('without', 'rate').toFixed(0)} | ${of('with', 'rate').toFixed(0)} | ${ratio('rate')} | ${ratio('service')} | ${ratio('postgres')} |`,
    );
  }
});

interface Turn {
  rate: number;
  service: number;
  postgres: number;
}
