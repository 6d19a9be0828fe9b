/** A service with tenants, keys, and the admin API, for attacks by customers and operators. */
import { randomUUID } from 'node:crypto';
import { newApiKey } from '../../../src/core/tenants/keys.ts';
import { freePort } from '../../support/faults/postgres-server.ts';
import { Replica } from '../../support/faults/replica.ts';
import { createDatabase, type Environment } from '../environment.ts';

export interface Answer {
  status: number;
  text: string;
}

export interface Scene {
  /** Database name. */
  database: string;
  replicas: Replica[];
  /** Sends a request to the admin API, by default with an unscoped admin key. */
  admin(method: string, path: string, body?: object, key?: string): Promise<Answer>;
  /** Uploads an archive to the admin API. */
  upload(path: string, archive: Buffer): Promise<void>;
  /** Creates a key with the admin API and returns its secret. */
  newKey(purpose: object): Promise<string>;
  end(): Promise<void>;
}

/** @param env settings for all replicas; the first replica has the admin API */
export async function openScene(
  { postgres }: Environment,
  env: Record<string, string> = {},
  count = 1,
): Promise<Scene> {
  const { key: adminKey } = newApiKey();
  const database = await createDatabase(postgres);
  const url = postgres.url(postgres.port, database);
  const adminPort = await freePort();
  const shared = {
    DATABASE_URL: url,
    AUTH: 'keys',
    LOG_LEVEL: 'silent',
    BOOTSTRAP: JSON.stringify({ keys: [{ key: adminKey, admin: true }] }),
    ...env,
  };
  const replicas: Replica[] = [];
  for (let i = 0; i < count; i++) {
    const replica = await Replica.create(i === 0 ? { ...shared, ADMIN_PORT: String(adminPort) } : shared);
    await replica.start();
    replicas.push(replica);
  }
  const admin: Scene['admin'] = (method, path, body, key = adminKey) =>
    call(`http://127.0.0.1:${adminPort}/v1${path}`, method, key, body);
  return {
    database,
    replicas,
    admin,
    async upload(path, archive) {
      const response = await fetch(`http://127.0.0.1:${adminPort}/v1${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/x-tar' },
        body: new Uint8Array(archive),
      });
      if (!response.ok) throw new Error(`an archive was rejected: ${await response.text()}`);
    },
    async newKey(purpose) {
      const { status, text } = await admin('POST', '/keys', {
        kind: 'tenant',
        label: randomUUID(),
        ...purpose,
      });
      if (status !== 201) throw new Error(`a key was rejected: ${text}`);
      return (JSON.parse(text) as { key: string }).key;
    },
    end: async () => {
      await Promise.all(replicas.map((replica) => replica.end()));
    },
  };
}

export async function call(url: string, method: string, key: string, body?: object): Promise<Answer> {
  const response = await fetch(url, {
    method,
    headers: { authorization: `Bearer ${key}`, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  return { status: response.status, text: await response.text() };
}

export const execute = (replica: Replica, key: string, input: object): Promise<Answer> =>
  call(`${replica.url}/execute`, 'POST', key, input);
