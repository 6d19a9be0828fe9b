/**
 * Shares when tenants are renamed, copied, deleted, archived, and suspended, and when many calls run at the same time.
 *
 * @module-tag long-on-pglite
 */
import { expect, it } from 'vitest';
import { copyTenantData, moveTenantData } from '../../src/core/tenants/copy.ts';
import { removeMount, setMount } from '../../src/core/tenants/mounts.ts';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { createRandom } from '../support/random.ts';
import { createSharer, SHARING_ENV, type Sharer } from '../support/sharing.ts';
import { cmd } from '../support/step-table.ts';
import { describeService, freshTenant, type Service } from '../support/test-service.ts';

const ORIGIN = { actor: { type: 'operator', name: 'root' }, requestId: undefined } as const;

/** Renames a tenant, and returns it with a new key, because replicas cache the key's tenant. */
async function rename(service: Service, { tenant }: Sharer): Promise<Sharer> {
  const to = freshTenant('renamed');
  await moveTenantData(service.database, tenant, to);
  return createSharer(service, to);
}

describeService(
  'a share',
  (service) => {
    const createPair = async () => {
      const [giver, receiver] = [await createSharer(service()), await createSharer(service())];
      await giver.run(cmd.create('/memories/a', 'text'));
      return { giver, receiver };
    };

    it('follows both tenants when they are renamed, as an invitation does', async () => {
      let { giver, receiver } = await createPair();
      const { token, id } = await giver.invite({ reusable: true });
      await receiver.accept(token, 'team');
      giver = await rename(service(), giver);
      receiver = await rename(service(), receiver);
      expect((await giver.shares()).given).toMatchObject([{ tenant: receiver.tenant }]);
      expect((await receiver.shares()).received).toMatchObject([{ tenant: giver.tenant, status: 'ok' }]);
      expect(await receiver.run(cmd.view('/memories/team/a'))).toContain('text');
      expect((await giver.call('GET', '/invitations')).body.invitations).toMatchObject([{ id, accepted: 1 }]);
      const other = await createSharer(service());
      expect((await other.accept(token, 'team')).body.tenant).toBe(giver.tenant);
      for (const { id: share } of (await giver.shares()).given)
        expect((await giver.call('DELETE', `/shares/${share}`)).status).toBe(204);
      expect((await receiver.shares()).received).toStrictEqual([]);
    });

    it('stays with the original when a tenant is copied', async () => {
      const { giver, receiver } = await createPair();
      const { token } = await giver.invite({ reusable: true });
      await receiver.accept(token, 'team');
      const to = freshTenant('copy');
      await copyTenantData(service().database, receiver.tenant, to, ORIGIN, { maxFiles: 0, maxBytes: 0 });
      const copy = await createSharer(service(), to);
      expect(await copy.shares()).toStrictEqual({ given: [], received: [] });
      expect(await copy.run(cmd.view('/memories/team/a'))).toContain('does not exist');
      expect((await giver.shares()).given).toHaveLength(1);
    });

    it('ends with the receiving tenant, and lacks its memory after the giving tenant was deleted', async () => {
      const { giver, receiver } = await createPair();
      const [{ token }, unused] = [await giver.invite({ reusable: true }), await giver.invite()];
      await receiver.accept(token, 'team');
      const other = await createSharer(service());
      await other.accept(token, 'team');
      const tenants = new Tenants(service().database);
      await tenants.delete(other.tenant);
      expect((await giver.shares()).given).toMatchObject([{ tenant: receiver.tenant }]);
      await tenants.delete(giver.tenant);
      service().app.services.policies.forget(giver.tenant);
      const again = await createSharer(service(), giver.tenant);
      expect(await again.shares()).toStrictEqual({ given: [], received: [] });
      expect((await again.call('GET', '/invitations')).body).toStrictEqual({ invitations: [] });
      for (const each of [token, unused.token]) expect((await receiver.accept(each, 'x')).status).toBe(404);
      const [share] = (await receiver.shares()).received;
      expect(share).toMatchObject({ tenant: giver.tenant, status: 'missing' });
      expect(await receiver.run(cmd.view('/memories/team/a'))).toContain('is not available');
      expect((await receiver.call('DELETE', `/shares/${share?.id}`)).status).toBe(204);
      expect((await receiver.shares()).received).toStrictEqual([]);
    });

    it("records its beginning and end in the receiving tenant's change feed, with the actors", async () => {
      const { giver, receiver } = await createPair();
      const { database } = service();
      const accept = async () => {
        const { token } = await giver.invite({ access: 'propose' });
        return String((await receiver.accept(token, 'team')).body.id);
      };
      const operator = { type: 'operator', name: 'ada' } as const;
      const changed = { name: 'team', tenant: giver.tenant, access: 'read_only', instructions: '' } as const;
      const endings = [
        (id: string) => giver.call('DELETE', `/shares/${id}`),
        (id: string) => receiver.call('DELETE', `/shares/${id}`),
        async () => {
          await setMount(database, receiver.tenant, changed, operator);
          await removeMount(database, receiver.tenant, 'team', operator);
        },
      ];
      const ids: string[] = [];
      for (const end of endings) {
        const id = await accept();
        ids.push(id);
        await end(id);
        await receiver.call('DELETE', `/shares/${id}`);
      }
      const actor = ({ key: { id } }: Sharer) => ({ type: 'api_key', id });
      const event = (type: string, share: number, by: object, access = 'propose') => ({
        type: `share_${type}`,
        tenant: receiver.tenant,
        share: { id: ids[share], access },
        actor: by,
      });
      const { body } = await receiver.call('GET', '/changes?type=share_created&type=share_ended');
      expect(body.events).toMatchObject([
        event('created', 0, actor(receiver)),
        event('ended', 0, actor(giver)),
        event('created', 1, actor(receiver)),
        event('ended', 1, actor(receiver)),
        event('created', 2, actor(receiver)),
        event('ended', 2, operator, 'read_only'),
      ]);
      const given = await giver.call('GET', '/changes?type=share_created&type=share_ended');
      expect(given.body.events).toStrictEqual([]);
    });

    it('rejects writes while the giving tenant is archived, and all access while it is suspended', async () => {
      const { giver, receiver } = await createPair();
      await receiver.accept((await giver.invite({ access: 'read_write' })).token, 'team');
      await service().query('UPDATE tenants SET archived_at = now() WHERE id = $1', [giver.tenant]);
      service().app.services.policies.forget(giver.tenant);
      expect(await receiver.run(cmd.create('/memories/team/b', 'x'))).toContain('read-only');
      await new Tenants(service().database).suspend(giver.tenant, true);
      service().app.services.policies.forget(giver.tenant);
      expect((await receiver.shares()).received).toMatchObject([{ status: 'suspended' }]);
      expect((await giver.call('GET', '/shares')).body.code).toBe('tenant_suspended');
    });
  },
  SHARING_ENV,
);

describeService(
  'concurrent acceptances',
  (service) => {
    it('use an invitation exactly once', async () => {
      const giver = await createSharer(service());
      const receivers = await Promise.all(Array.from({ length: 6 }, () => createSharer(service())));
      for (let round = 0; round < 5; round++) {
        const { token } = await giver.invite();
        const attempts = receivers.flatMap((each) => [0, 1].map((i) => each.accept(token, `r${round}-${i}`)));
        const statuses = (await Promise.all(attempts)).map(({ status }) => status);
        expect(statuses.filter((status) => status === 201)).toHaveLength(1);
        expect(statuses.filter((status) => status === 404)).toHaveLength(11);
      }
      expect((await giver.shares()).given).toHaveLength(5);
      const received = await Promise.all(receivers.map(async (each) => (await each.shares()).received));
      expect(received.flat()).toHaveLength(5);
    });

    it('end each share exactly once while both tenants end it', async () => {
      const [giver, receiver] = [await createSharer(service()), await createSharer(service())];
      const { token } = await giver.invite({ reusable: true });
      for (let i = 0; i < 5; i++) {
        const { id } = (await receiver.accept(token, `team-${i}`)).body;
        const ends = await Promise.all(
          [giver, receiver, giver, receiver].map((each) => each.call('DELETE', `/shares/${id}`)),
        );
        expect(ends.map(({ status }) => status)).toContain(204);
        expect((await giver.shares()).given).toStrictEqual([]);
        expect((await receiver.shares()).received).toStrictEqual([]);
      }
    });

    it('leave the same shares on both sides after random concurrent changes', async () => {
      const random = createRandom(65);
      let sharers = await Promise.all(Array.from({ length: 4 }, () => createSharer(service())));
      for (let round = 0; round < 8; round++) {
        const tokens = await Promise.all(
          sharers.map((each) => each.invite({ reusable: random.below(2) === 0 })),
        );
        const shares = await Promise.all(sharers.map((each) => each.shares()));
        const renamed = random.below(3) === 0 ? random.below(4) : undefined;
        const deleted = renamed === undefined && random.below(4) === 0 ? random.below(4) : undefined;
        const steps = Array.from({ length: 12 }, (_, step) => async () => {
          const by = random.of(sharers);
          const { given, received } = random.of(shares);
          const share = random.of([...given, ...received, undefined]);
          const token = random.of(tokens).token;
          const { status } =
            share === undefined || random.below(2) === 0
              ? await by.accept(token, `m${round}-${step}`)
              : await by.call('DELETE', `/shares/${share.id}`);
          // 401 and 403: the tenant was deleted meanwhile.
          expect([201, 204, 401, 403, 404, 409, 503]).toContain(status);
        });
        const changes = steps.map((step) => step());
        const of = renamed ?? deleted;
        if (of !== undefined) {
          const changed = sharers[of] as Sharer;
          const next =
            renamed === undefined
              ? new Tenants(service().database).delete(changed.tenant).then(() => createSharer(service()))
              : rename(service(), changed);
          const replacement = await next;
          await Promise.all(changes);
          sharers = sharers.map((each, i) => (i === of ? replacement : each));
        } else await Promise.all(changes);
        expect(await listBothSides(sharers)).toStrictEqual({ onlyGiven: [], onlyReceived: [] });
      }
    });
  },
  SHARING_ENV,
);

/** Lists the shares that only one side has. A deleted giving tenant leaves mounts that are missing. */
async function listBothSides(sharers: readonly Sharer[]) {
  const lists = await Promise.all(
    sharers.map(async ({ tenant, shares }) => ({ tenant, ...(await shares()) })),
  );
  const given = lists.flatMap(({ tenant, given }) =>
    given.map((each) => `${each.id} ${tenant} ${each.tenant}`),
  );
  const received = lists.flatMap(({ tenant, received }) =>
    received
      .filter(({ status }) => status !== 'missing')
      .map((each) => `${each.id} ${each.tenant} ${tenant}`),
  );
  return {
    onlyGiven: given.filter((each) => !received.includes(each)),
    onlyReceived: received.filter((each) => !given.includes(each)),
  };
}
