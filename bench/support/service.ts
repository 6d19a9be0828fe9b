import type { withCleanup } from './cleanup.ts';
import { LOAD_SETTINGS } from './contestants.ts';
import { type BenchDatabase, startPostgres } from './postgres.ts';
import { runCli, SERVICE, type Server, startServer } from './process.ts';

type Later = Parameters<Parameters<typeof withCleanup>[0]>[1];

export interface BenchService extends Server {
  /** The database server's version and settings. */
  description: string;
  /** Creates another database on the same server. */
  createDatabase(): Promise<BenchDatabase>;
  /** Sends JSON. Throws unless the response is a success. */
  post(path: string, tenant: string, body: object): Promise<string>;
}

/** Starts Postgres, and the service with a separate database and without authentication. */
export async function startService(
  scratch: string,
  later: Later,
  settings: Record<string, string> = {},
): Promise<BenchService> {
  const server = await startPostgres(scratch);
  later(() => server.stop());
  const { url: DATABASE_URL } = await server.createDatabase();
  const env = { ...LOAD_SETTINGS, DATABASE_URL, AUTH: 'none', ...settings };
  runCli(['migrate'], env);
  const service = await startServer(SERVICE, { env, scratch, name: 'service', ready: '/readyz' });
  later(() => service.stop());
  const post = async (path: string, tenant: string, body: object) => {
    const headers = { 'content-type': 'application/json', 'x-tenant-id': tenant };
    const response = await fetch(service.url + path, { method: 'POST', headers, body: JSON.stringify(body) });
    if (!response.ok) throw new Error(`${path} returned ${response.status}.`);
    return response.text();
  };
  return { ...service, description: server.description, createDatabase: server.createDatabase, post };
}
