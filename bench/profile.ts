/**
 * `npm run bench -- profile [workload]`: profiles the service's CPU time under load with --cpu-prof. Prints the most
 * expensive functions and packages, and writes the profile to bench/results for a browser.
 *
 * Environment: SECONDS, CONNECTIONS, TENANTS; AUTH (keys or none).
 */
import { copyFile, mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { progress, setting, withCleanup } from './support/cleanup.ts';
import { LOAD_SETTINGS, prepare } from './support/contestants.ts';
import { Worker } from './support/job.ts';
import { startPostgres } from './support/postgres.ts';
import { root, runCli, SERVICE, startServer } from './support/process.ts';
import { type Workload, workloads } from './support/workloads.ts';

const workload = workloads.find((each) => each === process.argv[2]) ?? ('view' satisfies Workload);
const TENANTS = setting('TENANTS', 100);

interface Profile {
  nodes: { id: number; callFrame: { functionName: string; url: string; lineNumber: number } }[];
  /** In microseconds on the machine's monotonic clock, as are the timestamps. */
  startTime: number;
  samples: number[];
  timeDeltas: number[];
}

await withCleanup(async (scratch, later) => {
  const server = await startPostgres(scratch);
  later(() => server.stop());
  const { url: databaseUrl } = await server.createDatabase();
  const env = { DATABASE_URL: databaseUrl };
  await prepare(env, TENANTS);
  const key = runCli(['keys', 'create', '--service'], env).trim();
  const directory = join(scratch, 'profile');
  const service = await startServer(SERVICE, {
    env: {
      ...env,
      ...LOAD_SETTINGS,
      AUTH: process.env.AUTH ?? 'keys',
      NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${directory}`,
    },
    scratch,
    name: 'profiled',
    ready: '/readyz',
  });
  const load = new Worker('load.ts');
  later(() => load.stop());
  progress(`load: ${workload}`);
  const from = monotonicMicroseconds();
  const measured = await load.measure({
    workload,
    url: service.url,
    headers: { authorization: `Bearer ${key}` },
    keyed: false,
    run: 'profile',
    connections: setting('CONNECTIONS', 32),
    tenants: TENANTS,
    warmUpSeconds: 0,
    seconds: setting('SECONDS', 10),
  });
  progress(`${Math.round(measured.rate)}/s, ${measured.failures} failures`);
  const to = monotonicMicroseconds();
  await service.stop();

  const [file = ''] = await readdir(directory);
  const results = join(root, 'bench', 'results');
  await mkdir(results, { recursive: true });
  await copyFile(join(directory, file), join(results, `${workload}.cpuprofile`));
  const profile = JSON.parse(await readFile(join(directory, file), 'utf8')) as Profile;
  process.stdout.write(summary(profile, from, to));
});

function monotonicMicroseconds(): number {
  return Number(process.hrtime.bigint() / 1000n);
}

/** Formats the shares of the CPU time that the process used between two timestamps. */
function summary({ nodes, startTime, samples, timeDeltas }: Profile, from: number, to: number): string {
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]));
  const functions = new Map<string, number>();
  const packages = new Map<string, number>();
  let busy = 0;
  let at = startTime;
  for (const [i, sample] of samples.entries()) {
    const frame = frames.get(sample);
    at += timeDeltas[i] ?? 0;
    if (at < from || at > to || frame === undefined || frame.functionName === '(idle)') continue;
    const spent = timeDeltas[i] ?? 0;
    busy += spent;
    const place = shortLocation(frame.url);
    const name = `${frame.functionName || '(anonymous)'} ${place}${frame.url ? `:${frame.lineNumber + 1}` : ''}`;
    functions.set(name, (functions.get(name) ?? 0) + spent);
    const owner = frame.url
      ? (/^node_modules\/(@[^/]+\/[^/]+|[^/]+)/.exec(place)?.[1] ?? ownerDirectory(place))
      : frame.functionName;
    packages.set(owner, (packages.get(owner) ?? 0) + spent);
  }
  const top = (shares: Map<string, number>, count: number) =>
    [...shares]
      .sort(([, a], [, b]) => b - a)
      .slice(0, count)
      .map(([name, spent]) => `${((100 * spent) / busy).toFixed(1).padStart(5)} %  ${name}`)
      .join('\n');
  return `Self time by package:\n${top(packages, 16)}\n\nBy function:\n${top(functions, 40)}\n`;
}

function shortLocation(url: string): string {
  const path = url.replace(/^file:\/\//, '');
  const at = path.lastIndexOf('node_modules/');
  return at >= 0 ? path.slice(at) : path.replace(root, '');
}

/** Returns the service's directory (`dist/store`) or the Node module (`node:net`). */
function ownerDirectory(place: string): string {
  return place.startsWith('node:') ? (place.split('/')[0] ?? place) : place.split('/').slice(0, 2).join('/');
}
