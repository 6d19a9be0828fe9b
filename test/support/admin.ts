import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from 'fastify';
import { afterAll, beforeAll } from 'vitest';
import { loadConfig } from '../../src/core/config.ts';
import type { Services } from '../../src/core/files/services.ts';
import { type KeyPurpose, Keys } from '../../src/core/tenants/keys.ts';
import { buildAdminApp } from '../../src/service/admin-app.ts';
import type { Service } from './test-service.ts';

export interface AdminResponse {
  status: number;
  /** Parsed body, or its text if it is not JSON. */
  body: Record<string, unknown> & { code?: string; detail?: string };
  text: string;
  headers: LightMyRequestResponse['headers'];
}

export interface Admin {
  app: FastifyInstance;
  /** Admin key for the requests. */
  key: { key: string; id: string };
  /** Sends a request under `/v1`. An object is sent as JSON. */
  call(
    method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    path: string,
    options?: {
      body?: object | string | Buffer;
      type?: string;
      headers?: Record<string, string>;
      key?: string;
    },
  ): Promise<AdminResponse>;
}

/** Creates a key as the CLI does. */
export function makeKey(service: Service, purpose: Partial<KeyPurpose> = {}) {
  const defaults = { tenant: null, access: 'read_write', label: '', expiresAt: null } as const;
  return new Keys(service.database).issue({ ...defaults, ...purpose });
}

/** Opens the admin API on the database that a suite's service uses. */
export function useAdmin(service: () => Service, env: Record<string, string> = {}): () => Admin {
  let admin: Admin | undefined;
  beforeAll(async () => {
    admin = await openAdmin(service(), env);
  });
  afterAll(() => admin?.app.close());
  return () => {
    if (admin === undefined) throw new Error('the admin API is started in beforeAll');
    return admin;
  };
}

/** @param services the process's services, by default new ones */
export async function openAdmin(
  service: Service,
  env: Record<string, string> = {},
  services?: Services,
): Promise<Admin> {
  const config = loadConfig({ AUTH: 'keys', LOG_LEVEL: 'silent', ...env });
  const app = await buildAdminApp({ config, database: service.database, services });
  await app.ready();
  const key = await makeKey(service, { isAdmin: true, label: 'control plane' });
  return {
    app,
    key,
    async call(method, path, { body, type, headers = {}, key: credential = key.key } = {}) {
      const isJson = body !== undefined && typeof body === 'object' && !Buffer.isBuffer(body);
      const contentType = type ?? (isJson ? 'application/json' : undefined);
      const request: InjectOptions = {
        method,
        url: `/v1${path}`,
        headers: {
          authorization: `Bearer ${credential}`,
          ...(contentType === undefined ? {} : { 'content-type': contentType }),
          ...headers,
        },
        ...(body === undefined ? {} : { payload: isJson ? JSON.stringify(body) : body }),
      };
      const response = await app.inject(request);
      const hasJson = response.body !== '' && /\bjson\b/.test(String(response.headers['content-type']));
      return {
        status: response.statusCode,
        body: hasJson ? response.json() : {},
        text: response.body,
        headers: response.headers,
      };
    },
  };
}

/** Returns the error fields that tests compare. */
export const problem = ({ status, body }: AdminResponse) => [status, body.code, body.detail];
