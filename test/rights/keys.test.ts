/** Rights by path of keys and tokens: who may have them, and how they change. */
import { generateKeyPairSync } from 'node:crypto';
import { SignJWT } from 'jose';
import { expect, it } from 'vitest';
import { problem, useAdmin } from '../support/admin.ts';
import { cmd } from '../support/step-table.ts';
import { describeService, freshTenant } from '../support/test-service.ts';

const READ_ONLY = [{ path: '/memories/shared', access: 'read_only' }];
const PROPOSE = [{ path: '/memories/shared', access: 'propose' }];

describeService(
  "a key's rights by path",
  (service) => {
    const admin = useAdmin(service);
    const call: ReturnType<typeof admin>['call'] = (...args) => admin().call(...args);
    const createTenant = async () => {
      const tenant = freshTenant('rights');
      await call('POST', '/tenants', { body: { id: tenant } });
      return tenant;
    };

    it('stores rights sorted by path, keeps them in a rotation, and changes them', async () => {
      const tenant = await createTenant();
      const rights = [{ path: '/memories/z//', access: 'none' }, ...READ_ONLY];
      const stored = [...READ_ONLY, { path: '/memories/z', access: 'none' }];
      const made = await call('POST', '/keys', { body: { kind: 'tenant', tenant, rights } });
      expect(made.body).toMatchObject({ rights: stored });
      const url = `/keys/${made.body.id}`;
      const rotated = await call('POST', `${url}/rotate`, { body: { overlap_seconds: 0 } });
      expect(rotated.body).toMatchObject({ rights: stored });
      const changed = await call('PATCH', url, { body: { rights: READ_ONLY } });
      expect(changed.body).toMatchObject({ rights: READ_ONLY });
      expect((await call('PATCH', url, { body: { label: 'x' } })).body).toMatchObject({ rights: READ_ONLY });
      expect((await call('PATCH', url, { body: { rights: [] } })).body).toMatchObject({ rights: [] });
    });

    it('rejects rights of admin keys, of keys that manage stores or share, and proposals by other keys', async () => {
      const tenant = await createTenant();
      const bodies = [
        { kind: 'admin', rights: READ_ONLY },
        { kind: 'service', manages_stores: true, rights: READ_ONLY },
        { kind: 'tenant', tenant, can_share: true, rights: READ_ONLY },
        { kind: 'tenant', tenant, rights: [{ path: '/etc', access: 'none' }] },
        { kind: 'tenant', tenant, rights: [...READ_ONLY, ...PROPOSE] },
      ];
      const problems = [];
      for (const body of bodies) problems.push(problem(await call('POST', '/keys', { body })));
      const forOthers =
        'The field rights must be empty for admin keys, and for keys that manage stores or share.';
      expect(problems).toStrictEqual([
        [400, 'invalid_parameter', forOthers],
        [400, 'invalid_parameter', forOthers],
        [400, 'invalid_parameter', forOthers],
        [400, 'invalid_parameter', 'The field rights.0.path must be a valid path in /memories.'],
        [400, 'invalid_parameter', 'The field rights must have each path once.'],
      ]);
      const { body: manager } = await call('POST', '/keys', {
        body: { kind: 'service', manages_stores: true },
      });
      const update = async (id: unknown, rights: object[]) =>
        problem(await call('PATCH', `/keys/${id}`, { body: { rights } }));
      expect(await update(manager.id, PROPOSE)).toStrictEqual([400, 'invalid_parameter', forOthers]);
    });

    it("applies a propose-only key's rights in its draft", async () => {
      const tenant = await createTenant();
      const client = async (body: object) => {
        const made = await call('POST', '/keys', { body: { kind: 'tenant', tenant, ...body } });
        const headers = { authorization: `Bearer ${made.body.key}` };
        return async (input: object) => (await service().execute(input, { headers })).content;
      };
      const all = await client({});
      await all(cmd.create('/memories/secret/a.md', 'a'));
      await all(cmd.create('/memories/wiki/b.md', 'b'));
      const rights = [
        { path: '/memories', access: 'propose' },
        { path: '/memories/secret', access: 'none' },
        { path: '/memories/wiki', access: 'read_only' },
      ];
      const proposer = await client({ access: 'propose', rights });
      expect([
        await proposer(cmd.create('/memories/c.md', 'c')),
        await proposer(cmd.create('/memories/wiki/d.md', 'd')),
        await proposer(cmd.view('/memories/secret/a.md')),
        await proposer(cmd.view('/memories')),
        await all(cmd.view('/memories/c.md')),
      ]).toStrictEqual([
        'File created successfully at: /memories/c.md',
        'Error: /memories/wiki is read-only. Write to other directories under /memories instead.',
        'The path /memories/secret/a.md does not exist. Please provide a valid path.',
        [
          "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:",
          '4.0K\t/memories',
          '1B\t/memories/c.md',
          '4.0K\t/memories/wiki/',
          '1B\t/memories/wiki/b.md',
        ].join('\n'),
        'The path /memories/c.md does not exist. Please provide a valid path.',
      ]);
    });

    it('opens no draft for a write that the rights do not cover', async () => {
      const tenant = await createTenant();
      const rights = [{ path: '/memories/wiki', access: 'read_only' }];
      const body = { kind: 'tenant', tenant, access: 'propose', rights };
      const headers = { authorization: `Bearer ${(await call('POST', '/keys', { body })).body.key}` };
      const { content } = await service().execute(cmd.create('/memories/wiki/a.md', 'a'), { headers });
      const created = await service().app.inject({
        ...{ method: 'POST', url: `/v1/memory_stores/${tenant}/memories`, headers },
        payload: { path: '/wiki/a.md', content: 'a' },
      });
      const drafts = async () => (await call('GET', `/tenants/${tenant}/drafts`)).body.drafts;
      expect([content, created.statusCode, await drafts()]).toStrictEqual([
        'Error: /memories/wiki is read-only. Write to other directories under /memories instead.',
        403,
        [],
      ]);
      await service().execute(cmd.create('/memories/a.md', 'a'), { headers });
      expect(await drafts()).toHaveLength(1);
    });
  },
  { AUTH: 'keys' },
);

const { privateKey, publicKey } = generateKeyPairSync('ed25519');

describeService(
  "a token's rights by path",
  (service) => {
    const send = async (rights: unknown, input: object) => {
      const claims = { iss: 'https://issuer.example', aud: 'memory', tenant: 'rights-jwt', rights };
      const token = await new SignJWT(claims)
        .setProtectedHeader({ alg: 'EdDSA' })
        .setExpirationTime('1h')
        .sign(privateKey);
      const { status, content } = await service().execute(input, {
        headers: { authorization: `Bearer ${token}` },
      });
      return [status, content];
    };

    it('applies the rights in the claim, and rejects a token whose claim is malformed', async () => {
      const path = '/memories/secret/a.md';
      await send(undefined, cmd.create(path, 'a'));
      const hidden = [{ path: '/memories/secret', access: 'none' }];
      expect(await send(hidden, cmd.view(path))).toStrictEqual([
        200,
        `The path ${path} does not exist. Please provide a valid path.`,
      ]);
      const malformed = ['none', [{ path, access: 'all' }], null];
      for (const claim of malformed) expect((await send(claim, cmd.view(path)))[0]).toBe(401);
      const proposed = [{ path, access: 'propose' }];
      expect(await send(proposed, cmd.replace(path, 'a', 'b'))).toMatchObject([
        200,
        expect.stringContaining('edited'),
      ]);
      const content = (text: string) => [
        200,
        `Here's the content of ${path} with line numbers:\n     1\t${text}`,
      ];
      expect(await send(proposed, cmd.view(path))).toStrictEqual(content('b'));
      expect(await send(undefined, cmd.view(path))).toStrictEqual(content('a'));
    });
  },
  {
    AUTH: 'jwt',
    JWT_PUBLIC_KEY: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
    JWT_ISSUER: 'https://issuer.example',
    JWT_AUDIENCE: 'memory',
    JWT_RIGHTS_CLAIM: 'rights',
    AUTO_CREATE_TENANTS: 'true',
  },
);
