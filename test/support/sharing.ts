import { Tenants } from '../../src/core/tenants/tenants.ts';
import { makeKey } from './admin.ts';
import { freshTenant, type Service } from './test-service.ts';

export interface SharingResponse {
  status: number;
  body: Record<string, unknown> & { code?: string; detail?: string };
}

export interface Sharer {
  tenant: string;
  key: { key: string; id: string };
  call(method: 'GET' | 'POST' | 'DELETE', path: string, body?: unknown): Promise<SharingResponse>;
  /** Creates an invitation, and returns its token and ID. */
  invite(options?: object): Promise<{ token: string; id: string }>;
  accept(token: string, name: string): Promise<SharingResponse>;
  shares(): Promise<{ given: Share[]; received: Share[] }>;
  /** Runs a memory command. Returns its result's text. */
  run(input: object): Promise<string>;
}

export interface Share {
  id: string;
  tenant: string;
  path?: string;
  access: string;
  status?: string;
}

/** Creates a tenant with a key that may share. */
export async function createSharer(
  service: Service,
  tenant = freshTenant('sharer'),
  purpose: { canShare?: boolean; access?: 'read_only' } = { canShare: true },
): Promise<Sharer> {
  await new Tenants(service.database).create(tenant);
  const key = await makeKey(service, { tenant, ...purpose });
  const authorization = `Bearer ${key.key}`;
  const call: Sharer['call'] = async (method, path, body) => {
    const response = await service.app.inject({
      method,
      url: `/v1${path}`,
      headers: { authorization, ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { payload: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    return { status: response.statusCode, body: response.body === '' ? {} : response.json() };
  };
  return {
    tenant,
    key,
    call,
    async invite(options = {}) {
      const { status, body } = await call('POST', '/invitations', options);
      if (status !== 201) throw new Error(`The invitation was rejected with ${status} ${body.code}.`);
      return body as unknown as { token: string; id: string };
    },
    accept: (token, name) => call('POST', '/shares', { token, name }),
    shares: async () =>
      (await call('GET', '/shares')).body as unknown as Awaited<ReturnType<Sharer['shares']>>,
    run: async (input) => (await service.execute(input, { headers: { authorization } })).content,
  };
}

export const SHARING_ENV = { AUTH: 'keys', SHARING: 'on' };
