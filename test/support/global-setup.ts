import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { TestProject } from 'vitest/node';
import { loadConfig } from '../../src/core/config.ts';
import { migrate } from '../../src/core/database/migrate.ts';
import { openDatabase } from '../../src/core/database/open-database.ts';
import { copyTemplate } from '../../src/core/database/template.ts';
import { type Cluster, createDatabase, findCluster, seal } from './postgres/database-cluster.ts';
import type { Supervised } from './postgres/supervisor.ts';
import { databaseUrl } from './postgres/test-server.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /**
     * The server for this run, its template databases (migrated and empty), and the prefix of every database that the
     * run creates.
     */
    postgres: { url: string; cluster: Cluster; template: string; empty: string; prefix: string };
    /** A DATA_DIR with an empty, migrated database. Tests copy it, because PGlite takes seconds to create one. */
    pglite: { template: string };
    /** Directory for temporary files, removed after the run. */
    scratch: string;
  }
}

const root = fileURLToPath(new URL('../..', import.meta.url));

const MEMORY = '/dev/shm';
/** Several times as much as a run's databases need. */
const ENOUGH_BYTES = 6 * 1024 ** 3;

/**
 * Returns `/dev/shm`, which Linux keeps in memory, if it is large enough and can contain programs, and the temporary
 * directory otherwise. The tests create and drop hundreds of databases, and their files on ext4 would take half of
 * Postgres's time.
 */
async function scratchPlace(): Promise<string> {
  const mounts = await readFile('/proc/mounts', 'utf8').catch(() => '');
  if (!/ \/dev\/shm tmpfs (?!\S*\bnoexec\b)/.test(mounts)) return tmpdir();
  const { bavail, bsize } = await statfs(MEMORY);
  return Math.min(bavail * bsize, process.availableMemory()) < ENOUGH_BYTES ? tmpdir() : MEMORY;
}

/** Starts the supervisor (postgres/supervisor.ts), which keeps the server and the scratch directory until `release`. */
function startSupervisor(scratch: string): { supervised: Promise<Supervised>; release(): Promise<void> } {
  const script = fileURLToPath(new URL('./postgres/supervisor.ts', import.meta.url));
  const loader = process.features.typescript ? [] : ['--import', 'tsx'];
  const supervisor = spawn(process.execPath, [...loader, script, scratch], {
    cwd: root,
    stdio: ['pipe', 'pipe', 'inherit'],
    // A separate process group, so that Ctrl-C reaches only this process and the supervisor then cleans up in order.
    detached: true,
  });
  const ended = once(supervisor, 'close');
  const firstLine = Promise.race([once(createInterface(supervisor.stdout), 'line'), ended]);
  const supervised = firstLine.then(([line]) => {
    const answer = typeof line === 'string' ? JSON.parse(line) : { error: 'the Postgres supervisor exited' };
    if (answer.error) throw new Error(answer.error);
    return answer;
  });
  const release = async () => {
    supervisor.stdin.end();
    await ended;
  };
  return { supervised, release };
}

async function migrateDatabase(env: Record<string, string>): Promise<void> {
  const patient = { AUTH: 'none', LOG_LEVEL: 'silent', DB_CONNECT_TIMEOUT_MS: '60000' };
  const database = await openDatabase(loadConfig({ ...patient, ...env }));
  try {
    await migrate(database);
  } finally {
    await database.close();
  }
}

/** Creates a database, fills it, and closes it to connections, so that tests can copy it. */
async function createTemplate(
  cluster: Cluster,
  name: string,
  template: string,
  work: () => Promise<void> = async () => {},
): Promise<string> {
  await createDatabase(cluster, name, template);
  await work();
  await seal(cluster, name);
  return name;
}

/**
 * Returns the builds that the tests in this run need: the PGlite template, the compiled service, because it starts
 * faster than the source, and the console. Each is built here and only if it changed, because a build empties the
 * directory that tests in another worker or in another run read.
 */
function neededBuilds(project: TestProject): string[] {
  const files = project.vitest.state.getPaths().map((path) => readFileSync(path, 'utf8'));
  const isImported = (module: string) => files.some((file) => file.includes(`support/${module}'`));
  const runsLongTests = !project.vitest.config.tagsFilter?.some((filter) => filter.includes('!long'));
  const builds = ['template'];
  if (isImported('process.ts')) builds.push('service');
  if (isImported('console-suite.ts') && runsLongTests) builds.push('console');
  return builds;
}

async function build(parts: string[]): Promise<void> {
  const args = ['scripts/build.mjs', ...parts];
  const [code] = await once(spawn(process.execPath, args, { cwd: root, stdio: 'inherit' }), 'close');
  if (code !== 0) throw new Error(`The tests need a build that fails: see \`node ${args.join(' ')}\`.`);
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const scratch = await mkdtemp(join(await scratchPlace(), 'memory-service-tests-'));
  const { supervised, release } = startSupervisor(scratch);
  const preparations = [
    preparePostgres(project, supervised),
    build(neededBuilds(project)).then(() => preparePglite(project, scratch)),
  ];
  project.provide('scratch', scratch);
  // Waits for all preparations before the cleanup, even if one fails.
  const failed = (await Promise.allSettled(preparations)).find(({ status }) => status === 'rejected');
  if (failed) {
    await release();
    throw (failed as PromiseRejectedResult).reason;
  }
  return release;
}

async function preparePostgres(project: TestProject, supervised: Promise<Supervised>): Promise<void> {
  const { url, prefix, description } = await supervised;
  console.log(description);
  const cluster = await findCluster(url);
  const empty = await createTemplate(cluster, `${prefix}_empty`, 'template0');
  const template = await createTemplate(cluster, `${prefix}_template`, empty, () =>
    migrateDatabase({ DATABASE_URL: databaseUrl(url, `${prefix}_template`) }),
  );
  project.provide('postgres', { url, cluster, template, empty, prefix });
}

async function preparePglite(project: TestProject, scratch: string): Promise<void> {
  const template = join(scratch, 'pglite-template');
  await mkdir(template);
  if (!(await copyTemplate(join(template, 'pglite')))) throw new Error('The template of PGlite is missing.');
  project.provide('pglite', { template });
}
