/** `GET /whoami`, and the client's `check`, which calls it. */
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SignJWT } from 'jose';
import { MemoryClient, MemoryServiceError } from 'memory-service-client';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { Keys, newApiKey } from '../../src/core/tenants/keys.ts';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { freshTenant, type Service, startSharedService } from '../support/test-service.ts';

const LIMITS = {
  max_file_bytes: 1048576,
  max_bytes: 104857600,
  max_files: 10000,
  max_view_chars: 100000,
  rate_per_minute: 6000,
  max_body_bytes: 6356992,
  ttl_days: 0,
  history_days: 30,
  max_history_bytes: 1073741824,
  max_drafts: 20,
  max_draft_bytes: 524288000,
  draft_days: 30,
  max_context_chars: 16_000,
  read_log_days: 0,
};
const OTHERS = {
  settings: {
    secrets: 'store',
    create_existing: 'error',
    pinned_paths: '',
    provenance: 'never',
    read_log: 'daily',
  },
  mounts: [],
  version: '0.1.0',
};

async function serve(env: Record<string, string>): Promise<{ service: Service; url: string }> {
  const service = await startSharedService('postgres', env);
  await service.app.listen({ host: '127.0.0.1', port: 0 });
  return { service, url: `http://127.0.0.1:${(service.app.server.address() as AddressInfo).port}` };
}

async function checkMessage(check: Promise<unknown>): Promise<string> {
  const error = await check.catch((caught: unknown) => caught);
  if (!(error instanceof MemoryServiceError)) throw new Error(`not a MemoryServiceError: ${error}`);
  expect(error.idempotencyKey).toBeUndefined();
  return error.message.replace(/ \(request [\w-]+\)$/, '');
}

describe('whoami with keys', () => {
  let service: Service;
  let url: string;
  beforeAll(async () => {
    ({ service, url } = await serve({
      AUTH: 'keys',
      AUTH_FAILURES_PER_MINUTE: '0',
      AUTO_CREATE_TENANTS: 'false',
    }));
  });
  afterAll(() => service.close());

  async function createKey(tenant: string | null, more: { access?: 'read_only'; isAdmin?: true } = {}) {
    const { key, hash, id } = newApiKey();
    const purpose = { tenant, access: 'read_write', label: 'laptop', expiresAt: null, ...more } as const;
    await new Keys(service.database).create({ hash, id, ...purpose });
    return { key, id };
  }
  async function createTenant() {
    const tenant = freshTenant();
    await new Tenants(service.database).create(tenant);
    return tenant;
  }
  const check = (apiKey?: string, tenant?: string) => new MemoryClient({ url, apiKey, tenant }).check();

  it("returns a tenant key's identity", async () => {
    const tenant = await createTenant();
    const { key, id } = await createKey(tenant, { access: 'read_only' });
    expect(await check(key)).toStrictEqual({
      credential: { kind: 'tenant_key', id, label: 'laptop', subject: null },
      tenant: { id: tenant, exists: true, archived: false },
      rights: {
        access: 'read_only',
        creates_tenants: false,
        manages_stores: false,
        can_share: false,
        paths: [],
      },
      limits: LIMITS,
      ...OTHERS,
    });
  });

  it("returns a service key's identity and the given tenant's limits", async () => {
    const tenant = await createTenant();
    await service.query('UPDATE tenants SET max_files = 7, secrets = $2 WHERE id = $1', [tenant, 'mask']);
    const { key, id } = await createKey(null);
    expect(await check(key, tenant)).toStrictEqual({
      credential: { kind: 'service_key', id, label: 'laptop', subject: null },
      tenant: { id: tenant, exists: true, archived: false },
      rights: {
        access: 'read_write',
        creates_tenants: false,
        manages_stores: false,
        can_share: false,
        paths: [],
      },
      limits: { ...LIMITS, max_files: 7 },
      ...OTHERS,
      settings: {
        secrets: 'mask',
        create_existing: 'error',
        pinned_paths: '',
        provenance: 'never',
        read_log: 'daily',
      },
    });
  });

  it('does not change the tenant when whoami is called', async () => {
    const tenant = await createTenant();
    const rows = () => service.query('SELECT * FROM tenants WHERE id = $1', [tenant]);
    const before = await rows();
    await check((await createKey(tenant)).key);
    expect(await rows()).toStrictEqual(before);
  });

  it('explains which client option is wrong when the check fails', async () => {
    const [tenant, suspended] = [await createTenant(), await createTenant()];
    await service.query('UPDATE tenants SET suspended_at = now() WHERE id = $1', [suspended]);
    const { key } = await createKey(tenant);
    const { key: serviceKey } = await createKey(null);
    const { key: adminKey } = await createKey(null, { isAdmin: true });
    const at = `The memory service at ${url} responded with`;
    expect(await checkMessage(check())).toBe(
      `${at} 401 unauthorized: The service needs a key. Set \`apiKey\`.`,
    );
    expect(await checkMessage(check('msk_wrong'))).toBe(
      `${at} 401 unauthorized: \`apiKey\` is not a valid key or token of this service.`,
    );
    expect(await checkMessage(check(adminKey))).toBe(
      `${at} 403 is_admin_key: \`apiKey\` is an admin key, which is for the admin API only. Use a tenant key or a service key.`,
    );
    expect(await checkMessage(check(serviceKey))).toBe(
      `${at} 400 tenant_required: The key is valid for many tenants. Set \`tenant\`.`,
    );
    expect(await checkMessage(check(key, suspended))).toBe(
      `${at} 403 tenant_mismatch: The key is not valid for this \`tenant\`. Omit \`tenant\`, or use a key of that tenant.`,
    );
    expect(await checkMessage(check(serviceKey, 'nobody'))).toBe(
      `${at} 403 unknown_tenant: Tenant nobody does not exist. An operator must create it first. Check \`tenant\`.`,
    );
    expect(await checkMessage(check(serviceKey, suspended))).toBe(
      `${at} 403 tenant_suspended: Tenant ${suspended} is suspended. Check \`tenant\`, or have an operator resume it.`,
    );
    const under = new MemoryClient({ url: `${url}/memory`, apiKey: key });
    expect(await checkMessage(under.check())).toBe(
      `The memory service at ${url}/memory responded with 404 route_not_found: ${url}/memory/whoami does not exist. Check \`url\`.`,
    );
  });
});

describe('whoami with tokens', () => {
  it("returns the token's subject", async () => {
    const { privateKey, publicKey } = generateKeyPairSync('ed25519');
    const { service, url } = await serve({
      AUTH: 'jwt',
      JWT_ISSUER: 'https://login.example',
      JWT_AUDIENCE: 'memory',
      AUTO_CREATE_TENANTS: 'true',
      JWT_PUBLIC_KEY: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
    });
    onTestFinished(() => service.close());
    const tenant = freshTenant();
    const apiKey = await new SignJWT({ iss: 'https://login.example', aud: 'memory', tenant, sub: 'ada' })
      .setProtectedHeader({ alg: 'EdDSA' })
      .setExpirationTime(Math.floor(Date.now() / 1000) + 60)
      .sign(privateKey);
    expect(await new MemoryClient({ url, apiKey }).check()).toStrictEqual({
      credential: { kind: 'token', id: null, label: null, subject: 'ada' },
      tenant: { id: tenant, exists: false, archived: false },
      rights: {
        access: 'read_write',
        creates_tenants: true,
        manages_stores: false,
        can_share: false,
        paths: [],
      },
      limits: LIMITS,
      ...OTHERS,
    });
  });
});

describe('whoami without authentication', () => {
  it('returns the given tenant, or the tenant `default` if none is given', async () => {
    const { service, url } = await serve({});
    onTestFinished(() => service.close());
    const tenant = freshTenant();
    await new Tenants(service.database).create(tenant);
    await service.query('UPDATE tenants SET archived_at = now() WHERE id = $1', [tenant]);
    expect(await new MemoryClient({ url, tenant }).check()).toStrictEqual({
      credential: { kind: 'none', id: null, label: null, subject: null },
      tenant: { id: tenant, exists: true, archived: true },
      rights: {
        access: 'read_write',
        creates_tenants: true,
        manages_stores: true,
        can_share: false,
        paths: [],
      },
      limits: LIMITS,
      ...OTHERS,
    });
    expect(await new MemoryClient({ url }).check()).toMatchObject({ tenant: { id: 'default' } });
  });
});

describe('a check against a server that is not a memory service', () => {
  async function listen(answer: RequestListener): Promise<string> {
    const server = createServer(answer);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }
  const check = (url: string) => checkMessage(new MemoryClient({ url }).check());
  const FOREIGN = 'but not like a memory service. Check `url`, and any proxy in front of the service.';

  it.each([
    ['a page', 200, 'text/html', '<html>Welcome</html>'],
    ['a page for an error', 502, 'text/html', '<html>Bad gateway</html>'],
    ['other JSON', 200, 'application/json', '{"status":"ok"}'],
    ['JSON that is no object', 200, 'application/json', 'null'],
  ])('rejects a response with %s', async (_, status, type, body) => {
    const url = await listen((_request, response) =>
      response.writeHead(status, { 'Content-Type': type }).end(body),
    );
    expect(await check(url)).toBe(`${url}/whoami responded with ${status}, ${FOREIGN}`);
  });

  it('rejects a redirect and suggests a change to `url`', async () => {
    const url = await listen((_, response) =>
      response.writeHead(302, { Location: 'https://a.example' }).end(),
    );
    expect(await check(url)).toBe(`${url}/whoami redirects. Set \`url\` to where it redirects to.`);
  });

  it('reports that the server is unreachable if the port is closed', async () => {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    server.close();
    await once(server, 'close');
    expect(await check(url)).toBe(
      `The memory service at ${url} cannot be reached: ECONNREFUSED. Check \`url\` and that the service runs.`,
    );
  });

  it('reports that the server does not use TLS if `url` starts with https', async () => {
    const url = (await listen((_, response) => response.end())).replace('http:', 'https:');
    expect(await check(url)).toBe(
      `The memory service at ${url} cannot be reached: ERR_SSL_WRONG_VERSION_NUMBER. It does not speak TLS: if it has none, start \`url\` with http://.`,
    );
  });
});
