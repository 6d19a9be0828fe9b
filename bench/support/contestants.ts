import { execFileSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { loadConfig } from '../../src/core/config.ts';
import { migrate } from '../../src/core/database/migrate.ts';
import { openDatabase } from '../../src/core/database/open-database.ts';
import { seedStores } from '../servers/stores.ts';
import { progress } from './cleanup.ts';
import {
  DIRECTORIES,
  directoryPath,
  FILES_PER_DIRECTORY,
  filePath,
  LARGE_BYTES,
  SMALL_BYTES,
  seed,
  tenantName,
  text,
} from './data.ts';
import {
  installPython,
  root,
  runCli,
  SERVICE,
  type Server,
  startServer,
  typescriptCommand,
} from './process.ts';
import { type Workload, workloads } from './workloads.ts';

/** Settings without a rate limit and quotas, because the load would exceed any limit. */
export const LOAD_SETTINGS = { RATE_LIMIT_PER_MINUTE: '0', MAX_TENANT_FILES: '0', MAX_TENANT_BYTES: '0' };

export interface Contestant {
  id: 'S' | 'I' | 'N' | 'A' | 'B' | 'C1' | 'C2' | 'P' | 'F' | 'H' | 'D' | 'M' | 'G';
  name: string;
  workloads: readonly Workload[];
  url: string;
  headers: Record<string, string>;
  keyed: boolean;
  server?: Server;
}

const READS = ['view', 'directory'] as const;
const WRITES = ['create', 'str_replace', 'insert'] as const;
/** Workloads that a file store supports without a directory tree. */
const CALLS_OF_FILES = ['view', ...WRITES] as const;

/** Returns contestant F's directory. */
export const syncedDirectory = (filesDirectory: string) => `${filesDirectory}-synced`;

/** Packages with the peers that the service does not depend on. */
const PEERS = join(root, 'bench', 'peers');

export interface Peers {
  /** Contestants that can run on this machine. */
  ids: readonly string[];
  /** Python interpreter with M's packages. */
  python: string;
}

/** Installs the chosen contestants' packages. Reports a contestant that this machine cannot run. */
export function installPeers(ids: readonly string[]): Peers {
  if (ids.includes('D') || ids.includes('G')) {
    // `npm ci` fails if a registry lacks AgentFS binaries for other platforms.
    execFileSync('npm', ['install', '--no-save', '--no-audit', '--no-fund', '--prefix', PEERS], {
      stdio: 'ignore',
    });
  }
  if (!ids.includes('M')) return { ids, python: '' };
  try {
    return { ids, python: installPython(join(PEERS, '.venv'), join(PEERS, 'requirements.txt')) };
  } catch (error) {
    const [reason] = String(error).split('\n');
    progress(`M is left out, because it needs Python 3.11 or later with venv and pip: ${reason}`);
    return { ids: ids.filter((id) => id !== 'M'), python: '' };
  }
}

/** Migrates a database and fills it. */
export async function prepare(env: Record<string, string>, tenants: number): Promise<void> {
  const database = await openDatabase(loadConfig({ AUTH: 'none', DB_STATEMENT_TIMEOUT_MS: '0', ...env }));
  try {
    await migrate(database);
    if (tenants > 0) await seed(database, tenants);
  } finally {
    await database.close();
  }
}

/** Creates the same files in a directory per tenant. */
export async function prepareDirectories(directory: string, tenants: number): Promise<void> {
  const small = text(SMALL_BYTES);
  const large = text(LARGE_BYTES);
  for (let t = 0; t < tenants; t++) {
    const tenant = join(directory, tenantName(t));
    for (let d = 0; d < DIRECTORIES; d++) {
      await mkdir(join(tenant, directoryPath(d)), { recursive: true });
      const files = Array.from({ length: FILES_PER_DIRECTORY }, (_, f) =>
        writeFile(join(tenant, filePath(d, f)), f === 0 ? large : small),
      );
      await Promise.all(files);
    }
  }
}

export interface Fixtures {
  scratch: string;
  databaseUrl: string;
  pgliteDirectory: string;
  filesDirectory: string;
  tenants: number;
  /** Environment variables for all servers. */
  variables: Record<string, string>;
}

/** Starts all servers. Only one server is under load at a time. */
export async function startContestants(
  fixtures: Fixtures,
  { ids, python }: Peers,
  addCleanup: (undo: () => unknown) => void,
): Promise<Contestant[]> {
  const { scratch, databaseUrl, pgliteDirectory, filesDirectory, variables } = fixtures;
  const seeded = { SEED_TENANTS: String(fixtures.tenants) };
  const key = runCli(['keys', 'create', '--service'], { DATABASE_URL: databaseUrl }).trim();
  const start = async (
    name: string,
    command: string[],
    own: Record<string, string>,
    ready?: string,
  ): Promise<Server> => {
    const env = { ...variables, ...own };
    const server = await startServer(command, { env, scratch, name, ...(ready && { ready }) });
    addCleanup(() => server.stop());
    return server;
  };
  const service = (name: string, env: Record<string, string>) =>
    start(name, SERVICE, { ...LOAD_SETTINGS, ...env }, '/readyz');
  const floor = typescriptCommand('bench/servers/floor.ts');
  const peer = async (script: string, env: Record<string, string>, command = typescriptCommand(script)) => ({
    workloads: CALLS_OF_FILES,
    headers: {},
    keyed: false,
    server: await start(basename(script), command, env),
  });

  const makers: Record<Contestant['id'], () => Promise<Omit<Contestant, 'id' | 'url'> & { url?: string }>> = {
    S: async () => ({
      name: 'the service: Postgres, AUTH=keys',
      workloads,
      headers: { authorization: `Bearer ${key}` },
      keyed: false,
      server: await service('service', { DATABASE_URL: databaseUrl, AUTH: 'keys' }),
    }),
    I: async () => ({
      name: 'the service, with an Idempotency-Key on each write',
      workloads: [...WRITES, 'mix'],
      headers: { authorization: `Bearer ${key}` },
      keyed: true,
    }),
    N: async () => ({
      name: 'the service, AUTH=none',
      workloads: ['view', 'mix'],
      headers: {},
      keyed: false,
      server: await service('service-none', { DATABASE_URL: databaseUrl, AUTH: 'none' }),
    }),
    P: async () => ({
      name: 'the service on its embedded database (PGlite), AUTH=none',
      workloads,
      headers: {},
      keyed: false,
      server: await service('service-pglite', { DATA_DIR: pgliteDirectory }),
    }),
    A: async () => ({
      name: 'A, reference: BetaLocalFilesystemMemoryTool behind a Fastify handler',
      workloads,
      headers: {},
      keyed: false,
      server: await start('reference', typescriptCommand('bench/servers/reference.ts'), {
        DIRECTORY: filesDirectory,
      }),
    }),
    B: async () => ({
      name: 'B, floor: Fastify handler, prepared query on a pg.Pool of 10, formatting',
      workloads,
      headers: {},
      keyed: false,
      server: await start('floor', floor, { DATABASE_URL: databaseUrl }),
    }),
    C1: async () => ({
      name: 'C1, limit: that handler without a database',
      workloads: READS,
      headers: {},
      keyed: false,
      server: await start('limit', floor, {}),
    }),
    C2: async () => ({
      name: 'C2, limit: the pg driver alone, 32 in flight on 2 pipelined connections, no HTTP',
      workloads: [...READS, ...WRITES],
      headers: {},
      keyed: false,
      url: databaseUrl,
    }),
    F: async () => ({
      name: 'F, directory: temporary file, fsync, and rename for each write; without locks and history',
      ...(await peer('bench/servers/directory.ts', { DIRECTORY: syncedDirectory(filesDirectory) })),
    }),
    H: async () => ({
      name: 'H, bare handler: Fastify and one plain table on the same Postgres',
      ...(await peer('bench/servers/table.ts', { DATABASE_URL: databaseUrl, ...seeded })),
    }),
    D: async () => ({
      name: 'D, deepagents: StoreBackend on the PostgresStore of LangGraph',
      ...(await peer('bench/peers/deepagents.js', { DATABASE_URL: databaseUrl, ...seeded })),
    }),
    M: async () => {
      const script = 'bench/peers/pydantic_memory.py';
      const made = await peer(script, { DATABASE_URL: databaseUrl }, [python, script]);
      const version = execFileSync(python, ['--version'], { encoding: 'utf8' }).trim();
      await seedStores(
        (tenant) => ({ create: (path, content) => createOverHttp(made.server, tenant, path, content) }),
        fixtures.tenants,
      );
      return {
        name: `M, pydantic-ai-harness: PostgresMemoryStore behind uvicorn, one process of ${version}`,
        ...made,
      };
    },
    G: async () => ({
      name: 'G, AgentFS: a SQLite database for each tenant',
      ...(await peer('bench/peers/agentfs.js', { DIRECTORY: join(scratch, 'agentfs'), ...seeded })),
    }),
  };

  const contestants: Contestant[] = [];
  for (const id of Object.keys(makers) as Contestant['id'][]) {
    if (!ids.includes(id) && !(id === 'S' && ids.includes('I'))) continue;
    const made = await makers[id]();
    // A contestant without a server uses the first contestant's server.
    const server = made.server ?? (made.url === undefined ? contestants[0]?.server : undefined);
    contestants.push({ ...made, id, url: made.url ?? server?.url ?? '', ...(server && { server }) });
  }
  return contestants;
}

/** Creates a file through a contestant's HTTP interface, for contestants that are not written in JavaScript. */
async function createOverHttp({ url }: Server, tenant: string, path: string, content: string): Promise<void> {
  const response = await fetch(`${url}/execute`, {
    method: 'POST',
    headers: { 'x-tenant-id': tenant },
    body: JSON.stringify({ command: 'create', path, file_text: content }),
  });
  const result = await response.text();
  if (!result.includes('"is_error":false')) throw new Error(result);
}
