import type { MemoryPath } from '../../src/core/memory/path.ts';
import type { PathAccess, Right } from '../../src/core/memory/rights.ts';
import type { KeyPurpose } from '../../src/core/tenants/keys.ts';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { makeKey } from './admin.ts';
import { cmd, type Files } from './step-table.ts';
import { freshTenant, type Service, type ServiceResponse } from './test-service.ts';

/** Rights as access by path. */
export type RightsByPath = Record<string, PathAccess>;

export const toRights = (given: RightsByPath): Right[] =>
  Object.entries(given).map(([path, access]) => ({ path: path as MemoryPath, access }));

/** Sends requests with one key. */
export interface KeyClient {
  key: string;
  tenant: string;
  send(input: object, headers?: Record<string, string>): Promise<ServiceResponse>;
  /** Returns a response's body, parsed if it is JSON. */
  request(
    method: 'GET' | 'POST' | 'DELETE',
    url: string,
    payload?: object,
    headers?: Record<string, string>,
  ): Promise<unknown>;
}

/** Creates a key for a tenant. */
export async function keyClient(
  service: Service,
  tenant: string,
  rights: RightsByPath = {},
  purpose: Partial<KeyPurpose> = {},
): Promise<KeyClient> {
  const { key } = await makeKey(service, { tenant, rights: toRights(rights), ...purpose });
  const authorization = `Bearer ${key}`;
  return {
    key,
    tenant,
    send: (input, more) => service.execute(input, { headers: { authorization, ...more } }),
    request: async (method, url, payload, more) => {
      const headers = { authorization, ...more };
      const { body } = await service.app.inject({ method, url, headers, ...(payload && { payload }) });
      return body.startsWith('{') || body.startsWith('[') ? JSON.parse(body) : body;
    },
  };
}

/** Creates a tenant with files. Returns a client that may do everything. */
export async function tenantWithFiles(service: Service, files: Files): Promise<KeyClient> {
  const tenant = freshTenant('rights');
  await new Tenants(service.database).create(tenant);
  const all = await keyClient(service, tenant);
  for (const [path, text] of Object.entries(files)) await all.send(cmd.create(path, text));
  return all;
}
