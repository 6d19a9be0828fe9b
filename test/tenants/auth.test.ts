/** @module-tag long-on-pglite */
import { generateKeyPairSync } from 'node:crypto';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, SignJWT } from 'jose';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ALL_KEYS, hashKey, isApiKey, Keys, newApiKey } from '../../src/core/tenants/keys.ts';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { cmd } from '../support/step-table.ts';
import { describeService, freshTenant, type Service, startSharedService } from '../support/test-service.ts';

const bearer = (key: string) => ({ authorization: `Bearer ${key}` });
const summary = ({ status, body }: { status: number; body: Record<string, unknown> }) => [
  status,
  body.code ?? body.content,
];

async function createKey(
  service: Service,
  options: { tenant?: string; access?: 'read_write' | 'read_only'; expiresAt?: string } = {},
) {
  const { key, hash, id } = newApiKey();
  const { tenant = null, access = 'read_write', expiresAt = null } = options;
  expect(await new Keys(service.database).create({ hash, id, tenant, access, label: '', expiresAt })).toBe(
    true,
  );
  return { key, id };
}

async function createTenant(service: Service, tenant = freshTenant()) {
  expect(await new Tenants(service.database).create(tenant)).toBe(true);
  return tenant;
}

describe('API keys', () => {
  it('creates API keys with a prefix and a checksum that detects typos', () => {
    const { key, hash } = newApiKey();
    expect(key).toMatch(/^msk_[A-Za-z0-9_-]{43}[A-Za-z0-9]{6}$/);
    expect([isApiKey(key), hashKey(key)]).toStrictEqual([true, hash]);
    for (let i = 4; i < key.length; i++) {
      const typo = key.slice(0, i) + (key[i] === 'a' ? 'b' : 'a') + key.slice(i + 1);
      expect(isApiKey(typo)).toBe(false);
    }
    expect(isApiKey('')).toBe(false);
    expect(isApiKey(`${key} `)).toBe(false);
  });
});

describeService(
  'AUTH=keys',
  (service) => {
    const view = (headers: Record<string, string>) => service().execute(cmd.view('/memories'), { headers });
    const EMPTY =
      "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:\n4.0K\t/memories";

    it('resolves the tenant from a tenant key', async () => {
      const tenant = await createTenant(service());
      const { key } = await createKey(service(), { tenant });
      expect(summary(await view(bearer(key)))).toStrictEqual([200, EMPTY]);
      expect(summary(await view({ ...bearer(key), 'x-tenant-id': tenant }))).toStrictEqual([200, EMPTY]);
      expect(summary(await view({ ...bearer(key), 'x-tenant-id': `${tenant}x` }))).toStrictEqual([
        403,
        'tenant_mismatch',
      ]);
      const made = await service().execute(cmd.create('/memories/a', 'x'), { headers: bearer(key) });
      expect(made.content).toBe('File created successfully at: /memories/a');
      expect(
        await service().query(
          'SELECT tenant_id FROM entries WHERE tenant_id = $1::text AND path = $2::text',
          [tenant, '/memories/a'],
        ),
      ).toHaveLength(1);
    });

    it('requires X-Tenant-Id if the key is a service key, and creates the tenant on the first write', async () => {
      const { key } = await createKey(service());
      const tenant = freshTenant('service');
      expect(summary(await view(bearer(key)))).toStrictEqual([400, 'tenant_required']);
      expect(summary(await view({ ...bearer(key), 'x-tenant-id': 'a b' }))).toStrictEqual([
        400,
        'invalid_tenant',
      ]);
      const headers = { ...bearer(key), 'x-tenant-id': tenant };
      const made = await service().execute(cmd.create('/memories/a', 'x'), { headers });
      expect(made.content).toBe('File created successfully at: /memories/a');
      expect(await new Tenants(service().database).find(tenant)).toMatchObject({ files: 1, bytes: 1 });
    });

    it('recognizes a tenant immediately after its creation even if it was cached as missing', async () => {
      const service1 = await createKey(service());
      const tenant = freshTenant('new');
      const headers = { ...bearer(service1.key), 'x-tenant-id': tenant };
      // The service caches that the tenant does not exist.
      expect(summary(await view(headers))).toStrictEqual([200, EMPTY]);
      await createTenant(service(), tenant);
      const own = await createKey(service(), { tenant });
      expect(summary(await view(bearer(own.key)))).toStrictEqual([200, EMPTY]);
    });

    it('returns the same 401 for every invalid credential', async () => {
      const tenant = await createTenant(service());
      const expired = await createKey(service(), { tenant, expiresAt: '2020-01-01T00:00:00Z' });
      const revoked = await createKey(service(), { tenant });
      await new Keys(service().database).revoke(revoked.id);
      const answers = [
        await view({}),
        await view(bearer('msk_nonsense')),
        await view(bearer(newApiKey().key)),
        await view(bearer(expired.key)),
        await view(bearer(revoked.key)),
        await view({ authorization: 'Basic YTpi' }),
      ];
      for (const { status, body, headers } of answers) {
        expect([status, headers['www-authenticate']]).toStrictEqual([401, 'Bearer']);
        expect({ ...body, request_id: '' }).toStrictEqual({
          type: 'about:blank',
          title: 'Unauthorized',
          status: 401,
          code: 'unauthorized',
          detail:
            'A valid credential is required: send Authorization: Bearer with an API key or token of this service.',
          request_id: '',
        });
      }
    });

    it('returns an error result for a write with a read-only key and changes no file', async () => {
      const tenant = await createTenant(service());
      const { key } = await createKey(service(), { tenant, access: 'read_only' });
      const headers = bearer(key);
      for (const input of [
        cmd.create('/memories/a', 'x'),
        cmd.replace('/memories/a', 'x', 'y'),
        cmd.insert('/memories/a', 0, 'x'),
        cmd.delete('/memories/a'),
        cmd.rename('/memories/a', '/memories/b'),
        { command: 'create' },
      ]) {
        const { status, content, is_error } = await service().execute(input, { headers });
        expect([status, content, is_error]).toStrictEqual([200, 'Error: This memory is read-only', true]);
      }
      expect(summary(await view(headers))).toStrictEqual([200, EMPTY]);
    });

    it("rejects a suspended tenant's key", async () => {
      const tenant = await createTenant(service());
      const { key } = await createKey(service(), { tenant });
      const tenants = new Tenants(service().database);
      await tenants.suspend(tenant, true);
      const rejected = await view(bearer(key));
      expect([rejected.status, rejected.body.detail]).toStrictEqual([403, `Tenant ${tenant} is suspended.`]);
    });

    it("deletes a tenant's keys when the tenant is deleted", async () => {
      const tenant = await createTenant(service());
      const { key } = await createKey(service(), { tenant });
      expect(await new Tenants(service().database).delete(tenant)).toStrictEqual({
        entries: 0,
        versions: 0,
        directories: 0,
        storedResults: 0,
        keys: 1,
      });
      expect(summary(await view(bearer(key)))).toStrictEqual([401, 'unauthorized']);
    });

    it('accepts both keys while a tenant switches from an old key to a new key', async () => {
      const tenant = await createTenant(service());
      const old = await createKey(service(), { tenant });
      expect((await view(bearer(old.key))).status).toBe(200);
      const next = await createKey(service(), { tenant });
      const both = await Promise.all([old, next, old, next].map(({ key }) => view(bearer(key))));
      expect(both.map(({ status }) => status)).toStrictEqual([200, 200, 200, 200]);
      await new Keys(service().database).revoke(old.id);
      expect((await view(bearer(next.key))).status).toBe(200);
    });

    it("records a key's last use in the background", async () => {
      const own = await startSharedService('postgres', { AUTH: 'keys' });
      const tenant = await createTenant(own);
      const { key, id } = await createKey(own, { tenant });
      await own.execute(cmd.view('/memories'), { headers: bearer(key) });
      await own.app.close();
      const [row] = await new Keys(own.database).list({ ...ALL_KEYS, tenant });
      expect([row?.id, row?.lastUsedAt === null]).toStrictEqual([id, false]);
      await own.close();
    });
  },
  { AUTH: 'keys', AUTH_FAILURES_PER_MINUTE: '0' },
);

describeService(
  'a revoked key',
  (service) => {
    it('rejects a revoked key once the cached lookup has expired', async () => {
      const tenant = await createTenant(service());
      const { key, id } = await createKey(service(), { tenant });
      const status = async () =>
        (await service().execute(cmd.view('/memories'), { headers: bearer(key) })).status;
      expect(await status()).toBe(200);
      await new Keys(service().database).revoke(id);
      // Repeats until the service reads the key from the database again.
      while ((await status()) === 200);
      expect(await status()).toBe(401);
    });
  },
  { AUTH: 'keys', AUTH_CACHE_SECONDS: '1' },
);

describe('key guessing', () => {
  it('limits attempts with wrong keys per address, but still accepts a known key', async () => {
    const service = await startSharedService('postgres', { AUTH: 'keys', AUTH_FAILURES_PER_MINUTE: '5' });
    const tenant = await createTenant(service);
    const { key } = await createKey(service, { tenant });
    const view = (given: string) => service.execute(cmd.view('/memories'), { headers: bearer(given) });
    expect((await view(key)).status).toBe(200);
    const statuses: number[] = [];
    for (let i = 0; i < 7; i++) statuses.push((await view(newApiKey().key)).status);
    expect(statuses).toStrictEqual([401, 401, 401, 401, 401, 429, 429]);
    const limited = await view(newApiKey().key);
    expect([limited.body.code, Number(limited.headers['retry-after']) > 0]).toStrictEqual([
      'too_many_failed_attempts',
      true,
    ]);
    expect((await view(key)).status).toBe(200);
    await service.close();
  });

  it('accepts a valid key with an expired cache entry even after too many wrong keys', {
    tags: 'long',
  }, async () => {
    const service = await startSharedService('postgres', {
      AUTH: 'keys',
      AUTH_FAILURES_PER_MINUTE: '5',
      AUTH_CACHE_SECONDS: '1',
    });
    const tenant = await createTenant(service);
    const { key, id } = await createKey(service, { tenant });
    const headers = bearer(key);
    await service.execute(cmd.create('/memories/f'), { headers });
    for (let i = 0; i < 6; i++)
      await service.execute(cmd.view('/memories'), { headers: bearer(newApiKey().key) });
    await service.query(`UPDATE api_keys SET access = 'read_only' WHERE id = $1`, [id]);
    // Repeats until the service reads the key from the database again.
    let answer = await service.execute(cmd.create('/memories/f'), { headers });
    while (answer.content === 'Error: File /memories/f already exists') {
      answer = await service.execute(cmd.create('/memories/f'), { headers });
    }
    expect([answer.status, answer.content]).toStrictEqual([200, 'Error: This memory is read-only']);
    await service.close();
  });
});

describe('AUTH=jwt', () => {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const other = generateKeyPairSync('ed25519');
  const claims = { iss: 'https://issuer.example', aud: 'memory', tenant: 'jwt-tenant' };
  const token = (
    overrides: Record<string, unknown> = {},
    options: { key?: typeof privateKey | undefined; alg?: string; exp?: number } = {},
  ) =>
    new SignJWT({ ...claims, ...overrides })
      .setProtectedHeader({ alg: options.alg ?? 'EdDSA', kid: 'k1' })
      .setExpirationTime(options.exp ?? Math.floor(Date.now() / 1000) + 60)
      .sign(options.key ?? privateKey);

  const settings = {
    AUTH: 'jwt',
    JWT_ISSUER: 'https://issuer.example',
    JWT_AUDIENCE: 'memory',
    AUTO_CREATE_TENANTS: 'true',
  };
  let service: Service;
  beforeAll(async () => {
    const pem = publicKey.export({ type: 'spki', format: 'pem' }).toString();
    service = await startSharedService('postgres', { ...settings, JWT_PUBLIC_KEY: pem });
  });
  afterAll(() => service.close());
  const view = async (given: string, headers: Record<string, string> = {}) =>
    summary(await service.execute(cmd.view('/memories/x'), { headers: { ...bearer(given), ...headers } }));
  const MISSING = 'The path /memories/x does not exist. Please provide a valid path.';

  it("resolves the tenant from the token's tenant claim", async () => {
    expect(await view(await token())).toStrictEqual([200, MISSING]);
    expect(await view(await token(), { 'x-tenant-id': 'jwt-tenant' })).toStrictEqual([200, MISSING]);
    expect(await view(await token(), { 'x-tenant-id': 'other' })).toStrictEqual([403, 'tenant_mismatch']);
  });

  it('rejects every invalid token with the same 401', async () => {
    const hour = 3600;
    const now = Math.floor(Date.now() / 1000);
    const bad = [
      await token({}, { key: other.privateKey }),
      await token({ iss: 'https://evil.example' }),
      await token({ aud: 'other' }),
      await token({ tenant: undefined }),
      await token({ tenant: 7 }),
      await token({ tenant: 'a/b' }),
      await token({ sub: 7 }),
      await token({ sub: { nested: 'x' } }),
      await token({}, { exp: now - hour }),
      await token({ nbf: now + hour }),
      await new SignJWT(claims).setProtectedHeader({ alg: 'EdDSA' }).sign(privateKey),
      await new SignJWT(claims)
        .setProtectedHeader({ alg: 'HS256' })
        .setExpirationTime('1h')
        .sign(Buffer.alloc(32)),
      `${Buffer.from('{"alg":"none"}').toString('base64url')}.${Buffer.from(JSON.stringify({ ...claims, exp: now + hour })).toString('base64url')}.`,
      'not.a.token',
    ];
    for (const each of bad) expect(await view(each)).toStrictEqual([401, 'unauthorized']);
  });

  it('rejects a token whose algorithm does not fit the key', async () => {
    const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const [p256, p384] = ['P-256', 'P-384'].map((namedCurve) => generateKeyPairSync('ec', { namedCurve }));
    for (const [own, alg] of [
      [rsa, 'RS256'],
      [p256, 'ES256'],
    ] as const) {
      const pem = own?.publicKey.export({ type: 'spki', format: 'pem' }).toString() ?? '';
      const started = await startSharedService('postgres', {
        ...settings,
        JWT_PUBLIC_KEY: pem,
        JWT_ALGORITHMS: 'RS256,ES256,ES384,EdDSA',
      });
      const ask = async (given: string) =>
        summary(await started.execute(cmd.view('/memories/x'), { headers: bearer(given) }));
      const tokens = [
        await token({}, { alg: 'RS256', key: rsa.privateKey }),
        await token({}, { alg: 'ES256', key: p256?.privateKey }),
        await token({}, { alg: 'ES384', key: p384?.privateKey }),
        await token(),
      ];
      const answers = await Promise.all(tokens.map(ask));
      const accepted = alg === 'RS256' ? 0 : 1;
      expect(answers).toStrictEqual(
        tokens.map((_, i) => (i === accepted ? [200, MISSING] : [401, 'unauthorized'])),
      );
      await started.close();
    }
  });

  it('fetches keys from JWKS_URL, and responds with 503 while that URL is unavailable', async () => {
    const jwk = { ...(await exportJWK(publicKey)), kid: 'k1', alg: 'EdDSA' };
    let works = false;
    const issuer = createServer((_request, response) => {
      response.statusCode = works ? 200 : 500;
      response.end(JSON.stringify({ keys: [jwk] }));
    });
    await new Promise<void>((resolve) => issuer.listen(0, '127.0.0.1', resolve));
    const { port } = issuer.address() as AddressInfo;
    const own = await startSharedService('postgres', {
      ...settings,
      JWKS_URL: `http://127.0.0.1:${port}/jwks`,
    });
    const ask = async () =>
      summary(await own.execute(cmd.view('/memories/x'), { headers: bearer(await token()) }));
    expect(await ask()).toStrictEqual([503, 'issuer_unavailable']);
    works = true;
    expect(await ask()).toStrictEqual([200, MISSING]);
    await own.close();
    issuer.close();
  });

  describe("an issuer's keys", () => {
    const jwk = async (key: typeof publicKey, kid: string) => ({
      ...(await exportJWK(key)),
      kid,
      alg: 'EdDSA',
    });
    const signToken = (kid: string, key = privateKey) =>
      new SignJWT(claims).setProtectedHeader({ alg: 'EdDSA', kid }).setExpirationTime('1h').sign(key);
    let own: Service;
    let answer: (response: ServerResponse) => void;
    let fetches = 0;
    const issuer = createServer((_request, response) => {
      fetches++;
      answer(response);
    });
    beforeAll(async () => {
      await new Promise<void>((resolve) => issuer.listen(0, '127.0.0.1', resolve));
    });
    beforeEach(async () => {
      const keys = [await jwk(publicKey, 'k1')];
      answer = (response) => response.end(JSON.stringify({ keys }));
      const { port } = issuer.address() as AddressInfo;
      own = await startSharedService('postgres', {
        ...settings,
        JWKS_URL: `http://127.0.0.1:${port}/jwks`,
        MAX_IN_FLIGHT: '4',
        MAX_QUEUE_MS: '50',
      });
      fetches = 0;
    });
    afterEach(() => own.close());
    afterAll(() => {
      issuer.closeAllConnections();
      issuer.close();
    });
    const ask = async (given: string) =>
      summary(await own.execute(cmd.view('/memories/x'), { headers: bearer(given) }));

    it('accepts tokens with known keys while the issuer hangs', async () => {
      expect(await ask(await signToken('k1'))).toStrictEqual([200, MISSING]);
      let hanging: ServerResponse | undefined;
      const asked = new Promise<void>((resolve) => {
        answer = (response) => {
          hanging = response;
          resolve();
        };
      });
      const strangers = await Promise.all(
        Array.from({ length: 60 }, (_, i) => signToken(`unknown-${i}`, other.privateKey)),
      );
      const answers = strangers.map(ask);
      await asked;
      for (let i = 0; i < 10; i++) expect(await ask(await signToken('k1'))).toStrictEqual([200, MISSING]);
      // 16 requests wait for the shared fetch. The others wait for one of these slots and time out.
      const rejected: unknown[] = [];
      await new Promise<void>((resolve) => {
        for (const each of answers) {
          each.then((summarized) => {
            if (rejected.push(summarized) === 44) resolve();
          }, resolve);
        }
      });
      expect(rejected).toStrictEqual(Array.from({ length: 44 }, () => [503, 'overloaded']));
      expect(fetches).toBe(2);
      hanging?.end('{"keys":[]}');
      const codes = (await Promise.all(answers)).map(([, code]) => code);
      expect(codes.filter((code) => code === 'unauthorized')).toHaveLength(16);
    });

    it('fetches the new key immediately when the issuer rotates its keys', async () => {
      expect(await ask(await signToken('k1'))).toStrictEqual([200, MISSING]);
      const keys = [await jwk(other.publicKey, 'k2')];
      answer = (response) => response.end(JSON.stringify({ keys }));
      expect(await ask(await signToken('k2', other.privateKey))).toStrictEqual([200, MISSING]);
    });

    it.each([
      ['no keys', '{"keys":[]}'],
      ['no key set', '{}'],
      ['invalid JSON', '<html>'],
      ['an oversized body', `{"keys":[]${' '.repeat(2 * 1024 * 1024)}}`],
    ])('keeps the last valid keys in use when the issuer returns %s', async (_title, body) => {
      answer = (response) => response.end(body);
      expect(await ask(await signToken('k1'))).toStrictEqual([503, 'issuer_unavailable']);
      const keys = [await jwk(publicKey, 'k1')];
      answer = (response) => response.end(JSON.stringify({ keys }));
      expect(await ask(await signToken('k1'))).toStrictEqual([200, MISSING]);
      answer = (response) => response.end(body);
      expect(await ask(await signToken('unknown'))).toStrictEqual([401, 'unauthorized']);
      expect(await ask(await signToken('k1'))).toStrictEqual([200, MISSING]);
      expect(fetches).toBe(3);
    });

    it("limits how often it fetches the issuer's keys for unknown key IDs", async () => {
      for (let i = 0; i < 40; i++)
        expect(await ask(await signToken(`unknown-${i}`, other.privateKey))).toStrictEqual([
          401,
          'unauthorized',
        ]);
      expect(fetches).toBeLessThan(40);
      expect(await ask(await signToken('k1'))).toStrictEqual([200, MISSING]);
    });
  });
});
