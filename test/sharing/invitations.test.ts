/**
 * Invitations and shares over the agents' API.
 *
 * @module-tag long-on-pglite
 */
import { generateKeyPairSync } from 'node:crypto';
import { SignJWT } from 'jose';
import { expect, it } from 'vitest';
import type { MemoryPath } from '../../src/core/memory/path.ts';
import { Keys } from '../../src/core/tenants/keys.ts';
import { setMount } from '../../src/core/tenants/mounts.ts';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { endMismatchedShares } from '../../src/features/sharing/shares.ts';
import { makeKey } from '../support/admin.ts';
import { createSharer, SHARING_ENV } from '../support/sharing.ts';
import { cmd } from '../support/step-table.ts';
import { describeService, freshTenant } from '../support/test-service.ts';

const TOKEN = `msi_${'A'.repeat(43)}`;
const INVALID = {
  status: 404,
  body: expect.objectContaining({
    code: 'not_found',
    detail: 'The invitation is unknown, used, revoked, or expired. Ask its sender for a new one.',
  }),
};

describeService(
  'sharing by invitation',
  (service) => {
    it('mounts the memory of the inviting tenant, and removes the mount when either tenant ends the share', async () => {
      const [giver, receiver] = [await createSharer(service()), await createSharer(service())];
      await giver.run(cmd.create('/memories/plan.md', 'ship it'));
      for (const ending of [giver, receiver]) {
        const { token } = await giver.invite({ access: 'read_write' });
        const accepted = await receiver.accept(token, 'team');
        expect(accepted).toStrictEqual({
          status: 201,
          body: {
            id: expect.stringMatching(/^shr_[0-9a-f]{12}$/),
            tenant: giver.tenant,
            path: '/memories/team',
            access: 'read_write',
            status: 'ok',
            created_at: expect.any(String),
          },
        });
        expect(await receiver.run(cmd.view('/memories/team/plan.md'))).toContain('ship it');
        const id = String(accepted.body.id);
        expect((await giver.shares()).given).toMatchObject([
          { id, tenant: receiver.tenant, access: 'read_write' },
        ]);
        expect((await receiver.shares()).received).toMatchObject([
          { id, tenant: giver.tenant, status: 'ok' },
        ]);
        expect((await ending.call('DELETE', `/shares/${id}`)).status).toBe(204);
        expect(await receiver.run(cmd.view('/memories/team/plan.md'))).toContain('does not exist');
        for (const sharer of [giver, receiver])
          expect(await sharer.shares()).toStrictEqual({ given: [], received: [] });
        expect((await ending.call('DELETE', `/shares/${id}`)).body.detail).toBe(
          `Share ${id} does not exist, or has ended.`,
        );
      }
    });

    it('lets only the inviting tenant write if the access is read_only, the default', async () => {
      const [giver, receiver] = [await createSharer(service()), await createSharer(service())];
      const { token } = await giver.invite();
      expect((await receiver.accept(token, 'team')).body.access).toBe('read_only');
      expect(await receiver.run(cmd.create('/memories/team/a', 'x'))).toContain('read-only');
    });

    it('shares only the file or directory of the prefix, and shows the prefix to both tenants', async () => {
      const [giver, receiver] = [await createSharer(service()), await createSharer(service())];
      await giver.run(cmd.create('/memories/plan.md', 'private'));
      const { token } = await giver.invite({ access: 'read_write', prefix: '/memories/shared/' });
      const prefix = '/memories/shared';
      expect((await giver.call('GET', '/invitations')).body.invitations).toMatchObject([{ prefix }]);
      const { body } = await receiver.accept(token, 'team');
      expect(body.prefix).toBe(prefix);
      expect((await receiver.accept(token, 'team')).body).toStrictEqual(body);
      expect((await giver.shares()).given).toMatchObject([{ tenant: receiver.tenant, prefix }]);
      expect((await receiver.shares()).received).toStrictEqual([body]);
      const views = [
        cmd.view('/memories/team/plan.md'),
        cmd.create('/memories/team/plan.md', 'x'),
        cmd.create('/memories/team/shared/a.md', 'x'),
      ];
      const results = [];
      for (const input of views) results.push(await receiver.run(input));
      expect(results).toStrictEqual([
        'The path /memories/team/plan.md does not exist. Please provide a valid path.',
        'Error: You cannot write to /memories/team. Write to other directories under /memories or /memories/team/shared instead.',
        'File created successfully at: /memories/team/shared/a.md',
      ]);
      expect(await giver.run(cmd.view('/memories/shared/a.md'))).toContain('1\tx');
    });

    it('shows both tenants the prefix to which an operator changes a share', async () => {
      const [giver, receiver] = [await createSharer(service()), await createSharer(service())];
      const { token } = await giver.invite({ prefix: '/memories' });
      const { body } = await receiver.accept(token, 'team');
      expect(body).not.toHaveProperty('prefix');
      const mount = { name: 'team', tenant: giver.tenant, access: 'read_only', instructions: '' } as const;
      await setMount(service().database, receiver.tenant, { ...mount, prefix: '/memories/a' as MemoryPath });
      expect((await giver.shares()).given).toMatchObject([{ id: body.id, prefix: '/memories/a' }]);
      expect((await receiver.shares()).received).toMatchObject([{ id: body.id, prefix: '/memories/a' }]);
      await setMount(service().database, receiver.tenant, mount);
      expect((await giver.shares()).given[0]).not.toHaveProperty('prefix');
    });

    it('rejects a prefix that is no path in the memory', async () => {
      const giver = await createSharer(service());
      for (const prefix of ['', '/', '/memories/../etc', '/elsewhere', 7, null])
        expect(await giver.call('POST', '/invitations', { prefix })).toMatchObject({
          status: 400,
          body: { code: 'invalid_parameter' },
        });
    });

    it("collects the other tenant's writes in a draft if the access is propose", async () => {
      const [giver, receiver] = [await createSharer(service()), await createSharer(service())];
      const { token } = await giver.invite({ access: 'propose' });
      const { body } = await receiver.accept(token, 'team');
      expect(body.access).toBe('propose');
      expect((await giver.shares()).given).toMatchObject([{ tenant: receiver.tenant, access: 'propose' }]);
      await receiver.run(cmd.create('/memories/team/a', 'x'));
      expect(await receiver.run(cmd.view('/memories/team/a'))).toContain('1\tx');
      expect(await giver.run(cmd.view('/memories/a'))).toContain('does not exist');
      expect((await giver.call('DELETE', `/shares/${body.id}`)).status).toBe(204);
      expect(await receiver.run(cmd.view('/memories/team/a'))).toContain('does not exist');
      expect(await receiver.run(cmd.create('/memories/team/b', 'x'))).toContain('successfully');
      const { token: next } = await giver.invite({ access: 'propose' });
      expect((await receiver.accept(next, 'again')).status).toBe(201);
      expect(await receiver.run(cmd.view('/memories/again'))).not.toContain('/memories/again/b');
    });

    it('accepts an invitation once, and a reusable invitation several times', async () => {
      const giver = await createSharer(service());
      const receivers = [await createSharer(service()), await createSharer(service())];
      const [once, reusable] = [await giver.invite(), await giver.invite({ reusable: true })];
      const statuses = [];
      for (const receiver of receivers) {
        statuses.push((await receiver.accept(once.token, 'once')).status);
        statuses.push((await receiver.accept(reusable.token, 'reusable')).status);
      }
      expect(statuses).toStrictEqual([201, 201, 404, 201]);
      expect((await giver.call('GET', '/invitations')).body.invitations).toMatchObject([
        { id: reusable.id, accepted: 2, reusable: true, key: giver.key.id },
      ]);
    });

    it('returns the same share for a repeated acceptance under the same name, until the share ends', async () => {
      const [giver, receiver] = [await createSharer(service()), await createSharer(service())];
      const other = await createSharer(service());
      for (const reusable of [false, true]) {
        const { token } = await giver.invite({ reusable });
        const [first, second] = await Promise.all([1, 2].map(() => receiver.accept(token, 'team')));
        expect(first?.status).toBe(201);
        expect(second).toStrictEqual(first);
        expect((await giver.shares()).given).toHaveLength(1);
        expect((await receiver.accept(token, 'other')).status).toBe(reusable ? 201 : 404);
        expect((await other.accept(token, 'team')).status).toBe(reusable ? 201 : 404);
        for (const { id } of (await giver.shares()).given) await giver.call('DELETE', `/shares/${id}`);
        const repeated = await receiver.accept(token, 'team');
        if (reusable) expect(repeated.body.id).not.toBe(first?.body.id);
        else expect(repeated).toStrictEqual(INVALID);
      }
    });

    it('keeps an invitation whose acceptance was rejected', async () => {
      const [giver, receiver] = [await createSharer(service()), await createSharer(service())];
      await receiver.run(cmd.create('/memories/team', 'x'));
      const { token } = await giver.invite();
      expect((await receiver.accept(token, 'team')).body.detail).toBe(
        `Tenant ${receiver.tenant} already has /memories/team. Rename or delete it, or choose another name for the mount.`,
      );
      expect((await giver.accept(token, 'self')).body.detail).toBe(
        `Tenant ${giver.tenant} cannot mount itself.`,
      );
      expect((await receiver.accept(token, 'other')).status).toBe(201);
    });

    it('keeps a mount with the same name, and at most 16 mounts', async () => {
      const [giver, receiver] = [await createSharer(service()), await createSharer(service())];
      const { token } = await giver.invite({ reusable: true });
      for (let i = 0; i < 16; i++) expect((await receiver.accept(token, `team-${i}`)).status).toBe(201);
      const taken = await giver.invite();
      expect((await receiver.accept(taken.token, 'team-1')).body.code).toBe('rejected');
      expect((await receiver.accept(token, 'more')).body.detail).toBe(
        `Tenant ${receiver.tenant} already has 16 mounts, the maximum.`,
      );
      expect((await giver.shares()).given).toHaveLength(16);
    });

    it('rejects an invitation that is unknown, revoked, or expired', async () => {
      const [giver, receiver] = [await createSharer(service()), await createSharer(service())];
      const { token, id } = await giver.invite();
      expect((await giver.call('DELETE', `/invitations/${id}`)).status).toBe(204);
      const expired = await giver.invite();
      await service().query("UPDATE invitations SET expires_at = now() - interval '1 s' WHERE id = $1", [
        expired.id,
      ]);
      for (const each of [TOKEN, token, expired.token])
        expect(await receiver.accept(each, 'team')).toStrictEqual(INVALID);
      for (const each of [id, expired.id])
        expect((await giver.call('DELETE', `/invitations/${each}`)).body.detail).toBe(
          `Invitation ${each} does not exist: it was used, revoked, or has expired.`,
        );
      expect((await giver.call('GET', '/invitations')).body).toStrictEqual({ invitations: [] });
    });

    it('rejects an invitation after its key was revoked or has expired, and accepts it after a rotation', async () => {
      const giver = await createSharer(service());
      const receiver = await createSharer(service());
      const keys = new Keys(service().database);
      const [first, second] = [await giver.invite(), await giver.invite()];
      await keys.rotate(giver.key.id, 0);
      expect((await receiver.accept(first.token, 'first')).status).toBe(201);
      await service().query("UPDATE api_keys SET expires_at = now() - interval '1 s' WHERE id = $1", [
        giver.key.id,
      ]);
      expect(await receiver.accept(second.token, 'second')).toStrictEqual(INVALID);
      await service().query('UPDATE api_keys SET expires_at = NULL WHERE id = $1', [giver.key.id]);
      const list = async () => (await lead.call('GET', '/invitations')).body.invitations;
      const lead = await createSharer(service(), giver.tenant);
      expect(await list()).toMatchObject([{ id: second.id }]);
      await keys.revoke(giver.key.id);
      expect(await receiver.accept(second.token, 'second')).toStrictEqual(INVALID);
      expect(await list()).toStrictEqual([]);
    });

    it('rejects keys that may not share, and tells a key its right', async () => {
      const tenant = freshTenant();
      for (const purpose of [{}, { access: 'read_only' } as const]) {
        const other = await createSharer(service(), tenant, purpose);
        for (const path of ['/invitations', '/shares'] as const)
          expect(await other.call('GET', path)).toMatchObject({
            status: 403,
            body: { code: 'cannot_share' },
          });
        expect((await other.call('POST', '/invitations', {})).body.detail).toBe(
          'This requires a tenant key with `can_share`, which an operator creates.',
        );
        expect((await other.accept(TOKEN, 'team')).status).toBe(403);
      }
      const { app } = service();
      const headers = {
        authorization: `Bearer ${(await makeKey(service(), { tenant, canShare: true })).key}`,
      };
      expect((await app.inject({ url: '/whoami', headers })).json().rights.can_share).toBe(true);
      await expect(makeKey(service(), { tenant, canShare: true, access: 'read_only' })).rejects.toThrow();
    });

    it("hides a tenant's invitations and shares from other tenants", async () => {
      const [giver, receiver, other] = await Promise.all([1, 2, 3].map(() => createSharer(service())));
      if (!giver || !receiver || !other) throw new Error('three tenants exist');
      const [{ id }, { token }] = [await giver.invite(), await giver.invite()];
      const share = String((await receiver.accept(token, 'team')).body.id);
      expect(await other.shares()).toStrictEqual({ given: [], received: [] });
      expect((await other.call('GET', '/invitations')).body).toStrictEqual({ invitations: [] });
      for (const path of [`/invitations/${id}`, `/shares/${share}`])
        for (const sharer of path.includes('share') ? [other] : [other, receiver])
          expect((await sharer.call('DELETE', path)).status).toBe(404);
      expect((await receiver.shares()).received).toHaveLength(1);
    });

    it('keeps mounts from operators out of the list, and ends a share when an operator replaces its mount', async () => {
      const [giver, receiver, other] = await Promise.all([1, 2, 3].map(() => createSharer(service())));
      if (!giver || !receiver || !other) throw new Error('three tenants exist');
      await receiver.accept((await giver.invite()).token, 'team');
      const { database } = service();
      const mount = { name: 'team', tenant: giver.tenant, access: 'read_write', instructions: 'x' } as const;
      await setMount(database, receiver.tenant, mount);
      expect((await giver.shares()).given).toMatchObject([{ access: 'read_write' }]);
      expect((await receiver.shares()).received).toMatchObject([{ access: 'read_write' }]);
      await setMount(database, receiver.tenant, { ...mount, tenant: other.tenant });
      for (const sharer of [giver, receiver, other])
        expect(await sharer.shares()).toStrictEqual({ given: [], received: [] });
    });

    it('rejects the 101st invitation', async () => {
      const giver = await createSharer(service());
      for (let i = 0; i < 100; i++) await giver.invite();
      expect((await giver.call('POST', '/invitations', {})).body.detail).toBe(
        `Tenant ${giver.tenant} already has 100 invitations, the maximum. Revoke one.`,
      );
    });

    it('rejects hostile input without an effect or a status of 500', async () => {
      const sharer = await createSharer(service());
      const { token } = await sharer.invite();
      const bodies = [
        '',
        'null',
        '[]',
        '{',
        '"msi_"',
        '{"token":1,"name":"a"}',
        '{"access":"operate"}',
        '{"access":null}',
        '{"expires_in_seconds":59}',
        '{"expires_in_seconds":1e99}',
        '{"expires_in_seconds":-1}',
        '{"reusable":"yes"}',
        '{"color":1}',
        `{"token":"${token}","name":"../x"}`,
        `{"token":"${token}","name":""}`,
        `{"token":"${token}"}`,
        `{"token":"${token}","name":"a\\u0000"}`,
        `{"token":"${token}x","name":"a"}`,
        `{"token":"${token}","name":"a","instructions":"\\ud800"}`,
        `{"__proto__":{"token":"${token}"}}`,
      ];
      for (const path of ['/invitations', '/shares'])
        for (const body of bodies) {
          const { status } = await sharer.call('POST', path, body);
          expect([400, 415], `${path} ${body}`).toContain(status);
        }
      for (const id of ['%00', '..', 'x'.repeat(256), '%ff', "'", 'inv_%25'])
        for (const path of ['/invitations', '/shares'])
          expect([400, 404, 405], id).toContain((await sharer.call('DELETE', `${path}/${id}`)).status);
      expect((await sharer.call('GET', '/invitations')).body.invitations).toHaveLength(1);
    });

    it('records changes in the audit trail, without tokens and paths', async () => {
      const [giver, receiver] = [await createSharer(service()), await createSharer(service())];
      const { token, id } = await giver.invite({ prefix: '/memories/a' });
      const share = (await receiver.accept(token, 'team')).body.id;
      await receiver.call('DELETE', `/shares/${share}`);
      await receiver.accept(token, 'team');
      const events = await service().query(
        `SELECT action, tenant_id AS tenant, outcome, channel, details FROM audit_events
         WHERE tenant_id = ANY ($1) AND channel = 'sharing_api' ORDER BY at, id`,
        [[giver.tenant, receiver.tenant]],
      );
      expect(events).toStrictEqual([
        {
          action: 'createInvitation',
          tenant: giver.tenant,
          outcome: 'ok',
          channel: 'sharing_api',
          details: {
            ...{ access: 'read_only', is_partial: true, reusable: false },
            ...{ expires_in_seconds: 604800, invitation: id },
          },
        },
        {
          action: 'acceptInvitation',
          tenant: receiver.tenant,
          outcome: 'ok',
          channel: 'sharing_api',
          details: { name: 'team', share, tenant: giver.tenant, access: 'read_only', is_partial: true },
        },
        {
          action: 'endShare',
          tenant: receiver.tenant,
          outcome: 'ok',
          channel: 'sharing_api',
          details: { share },
        },
        {
          action: 'acceptInvitation',
          tenant: receiver.tenant,
          outcome: 'not_found',
          channel: 'sharing_api',
          details: { name: 'team' },
        },
      ]);
      expect(JSON.stringify(await service().query('SELECT * FROM invitations'))).not.toContain(token);
    });
  },
  SHARING_ENV,
);

describeService(
  'guessed invitations',
  (service) => {
    it('rejects all tokens from a tenant that sent too many wrong tokens', async () => {
      const [giver, receiver] = [await createSharer(service()), await createSharer(service())];
      const other = await createSharer(service());
      const { token } = await giver.invite();
      for (let i = 0; i < 2; i++) expect((await other.accept(TOKEN, 'team')).status).toBe(404);
      for (const each of [TOKEN, token])
        expect(await other.accept(each, 'team')).toMatchObject({
          status: 429,
          body: {
            code: 'too_many_failed_attempts',
            detail: 'Too many invalid invitations from this tenant.',
          },
        });
      expect((await receiver.accept(token, 'team')).status).toBe(201);
    });
  },
  { ...SHARING_ENV, AUTH_FAILURES_PER_MINUTE: '2' },
);

const { privateKey, publicKey } = generateKeyPairSync('ed25519');

describeService(
  "a token's right to share",
  (service) => {
    const send = async (tenant: string, claims: object, path: string, payload?: object) => {
      const token = await new SignJWT({ iss: 'https://issuer.example', aud: 'memory', tenant, ...claims })
        .setProtectedHeader({ alg: 'EdDSA' })
        .setExpirationTime('1h')
        .sign(privateKey);
      return service().app.inject({
        method: payload === undefined ? 'GET' : 'POST',
        url: path,
        headers: { authorization: `Bearer ${token}` },
        ...(payload && { payload }),
      });
    };

    it('follows from the claim, and a token whose claim is malformed is rejected', async () => {
      const [giver, receiver] = [freshTenant('giver'), freshTenant('receiver')];
      for (const tenant of [giver, receiver]) await new Tenants(service().database).create(tenant);
      const share = { share: true };
      const invited = await send(giver, share, '/v1/invitations', {});
      expect(invited.json()).toMatchObject({ key: null });
      const acceptance = { token: invited.json().token, name: 'team' };
      expect((await send(receiver, share, '/v1/shares', acceptance)).json()).toMatchObject({ tenant: giver });
      expect((await send(giver, share, '/whoami')).json().rights.can_share).toBe(true);
      for (const claims of [{}, { share: false }]) {
        expect((await send(giver, claims, '/v1/shares')).statusCode).toBe(403);
        expect((await send(giver, claims, '/whoami')).json().rights.can_share).toBe(false);
      }
      const rights = [{ path: '/memories/secret', access: 'none' }];
      for (const claims of [{ share: 'yes' }, { share: null }, { share: 1 }, { share: true, rights }])
        expect((await send(giver, claims, '/whoami')).statusCode).toBe(401);
    });
  },
  {
    AUTH: 'jwt',
    SHARING: 'on',
    JWT_PUBLIC_KEY: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
    JWT_ISSUER: 'https://issuer.example',
    JWT_AUDIENCE: 'memory',
    JWT_RIGHTS_CLAIM: 'rights',
    JWT_SHARE_CLAIM: 'share',
  },
);

describeService(
  'a service without sharing',
  (service) => {
    it('rejects invitations and acceptances, and lists and ends shares', async () => {
      const sharer = await createSharer(service());
      for (const [path, body] of [
        ['/invitations', {}],
        ['/shares', { token: TOKEN, name: 'team' }],
      ] as const)
        expect(await sharer.call('POST', path, body)).toMatchObject({
          status: 403,
          body: { code: 'sharing_off', detail: 'Sharing is off. An operator allows it with SHARING=on.' },
        });
      expect(await sharer.shares()).toStrictEqual({ given: [], received: [] });
      expect((await sharer.call('GET', '/invitations')).status).toBe(200);
      expect((await sharer.call('DELETE', '/shares/shr_0')).status).toBe(404);
    });
  },
  { AUTH: 'keys' },
);

describeService(
  'sharing between tenants with the same metadata',
  (service) => {
    const createFor = async (customer?: string) => {
      const sharer = await createSharer(service());
      const metadata = JSON.stringify(customer === undefined ? {} : { customer });
      await service().query('UPDATE tenants SET metadata = $2::text::jsonb WHERE id = $1', [
        sharer.tenant,
        metadata,
      ]);
      return sharer;
    };

    it('rejects an acceptance by a tenant with another value, an empty value, or no value', async () => {
      const giver = await createFor('acme');
      const { token } = await giver.invite();
      for (const receiver of [await createFor('globex'), await createFor(''), await createFor()])
        expect(await receiver.accept(token, 'team')).toMatchObject({
          status: 403,
          body: {
            code: 'sharing_not_allowed',
            detail: 'These tenants may not share: both need the same value of `customer` in their metadata.',
          },
        });
      const empty = await (await createFor('')).invite();
      expect((await (await createFor('')).accept(empty.token, 'team')).status).toBe(403);
      expect((await (await createFor('acme')).accept(token, 'team')).status).toBe(201);
    });

    it('ends shares between tenants that no longer have the same value', async () => {
      const [giver, receiver, other] = await Promise.all([1, 2, 3].map(() => createFor('acme')));
      if (!giver || !receiver || !other) throw new Error('three tenants exist');
      const { token } = await giver.invite({ reusable: true });
      for (const each of [receiver, other]) await each.accept(token, 'team');
      const rules = { SHARING: 'on', SHARING_SAME_METADATA: 'customer' } as const;
      await endMismatchedShares(service().database, rules);
      expect((await giver.shares()).given).toHaveLength(2);
      await service().query('UPDATE tenants SET metadata = $2::text::jsonb WHERE id = $1', [
        receiver.tenant,
        '{"customer":"globex"}',
      ]);
      await endMismatchedShares(service().database, rules);
      expect((await giver.shares()).given).toMatchObject([{ tenant: other.tenant }]);
      expect((await receiver.shares()).received).toStrictEqual([]);
    });
  },
  { ...SHARING_ENV, SHARING_SAME_METADATA: 'customer' },
);
