import { execFile } from 'node:child_process';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import type { FastifyInstance } from 'fastify';
import { loadConfig } from '../../src/core/config.ts';
import type { Database } from '../../src/core/database/database.ts';
import { type KeyPurpose, Keys } from '../../src/core/tenants/keys.ts';
import type { FirstKey } from '../../src/features/sign-in/first-key.ts';
import { buildAdminApp } from '../../src/service/admin-app.ts';

/** The admin listener on a socket, with the database from a service. */
export interface Console {
  url: string;
  close: () => Promise<void>;
}

export async function buildConsole(): Promise<void> {
  await promisify(execFile)(process.execPath, ['scripts/build.mjs', 'console']);
}

/** Starts the admin listener with the console's last build. */
export async function startConsole(
  database: Database,
  env: Record<string, string> = {},
  firstKey?: FirstKey,
): Promise<Console> {
  const config = loadConfig({
    AUTH: 'keys',
    AUTH_CACHE_SECONDS: '1',
    ADMIN_PORT: '0',
    LOG_LEVEL: 'silent',
    ...env,
  });
  const app = await buildAdminApp({ config, database, firstKey });
  await app.listen({ host: '127.0.0.1', port: config.ADMIN_PORT ?? 0 });
  const { port } = app.server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, close: () => app.close() };
}

export async function createAdminKey(
  database: Database,
  purpose: Partial<KeyPurpose> = {},
): Promise<{ id: string; key: string }> {
  const keys = new Keys(database);
  const { key, id } = await keys.issue({
    tenant: null,
    isAdmin: true,
    access: 'read_write',
    label: 'console',
    expiresAt: null,
    ...purpose,
  });
  return { id, key };
}

/** Creates a key and returns a function that runs commands with it and throws for an error. */
export async function createAgent(
  app: FastifyInstance,
  database: Database,
  tenant: string,
  label: string,
): Promise<(command: object) => Promise<void>> {
  const { key } = await createAdminKey(database, { tenant, isAdmin: false, label });
  return async (command) => {
    const answer = await app.inject({
      method: 'POST',
      url: '/execute',
      headers: { authorization: `Bearer ${key}` },
      payload: command,
    });
    const { content, is_error } = answer.json();
    if (answer.statusCode !== 200 || is_error)
      throw new Error(`The agent ${label} failed: ${content ?? answer.body}`);
  };
}
