/** `MemoryClient.sharing()` against the service. */
import { expect, it } from 'vitest';
import { MemoryClient } from '../../clients/typescript/src/index.ts';
import { createSharer, SHARING_ENV, type Sharer } from '../support/sharing.ts';
import { describeService } from '../support/test-service.ts';

describeService(
  "the TypeScript client's sharing",
  (service) => {
    const clientFor = ({ key }: Sharer) => {
      const send = async (input: Parameters<typeof fetch>[0], init: RequestInit = {}) => {
        const { pathname, search } = new URL(String(input));
        const response = await service().app.inject({
          method: (init.method ?? 'GET') as 'GET',
          url: pathname + search,
          headers: Object.fromEntries(new Headers(init.headers)),
          ...(init.body && { payload: String(init.body) }),
        });
        const headers = { 'content-type': String(response.headers['content-type'] ?? '') };
        return new Response(response.body || null, { status: response.statusCode, headers });
      };
      return new MemoryClient({ url: 'http://memory.test', apiKey: key.key, fetch: send }).sharing();
    };

    it('invites, lists, accepts, ends, and revokes', async () => {
      const [giver, receiver] = [await createSharer(service()), await createSharer(service())];
      const [team, builder] = [clientFor(giver), clientFor(receiver)];
      const { token, id } = await team.invite({ access: 'read_write', reusable: true, expiresInSeconds: 60 });
      expect(await team.listInvitations()).toMatchObject([{ id, access: 'read_write', reusable: true }]);
      const share = await builder.accept({ token, name: 'team', instructions: 'Read it.' });
      expect(share).toMatchObject({ tenant: giver.tenant, path: '/memories/team', status: 'ok' });
      expect((await team.list()).given).toMatchObject([
        { id: share.id, tenant: receiver.tenant, invitation: id },
      ]);
      await builder.end(share.id);
      expect(await team.list()).toStrictEqual({ given: [], received: [] });
      await team.revoke(id);
      await expect(builder.accept({ token, name: 'team' })).rejects.toThrow(
        /responded with 404 not_found: The invitation is unknown, used, revoked, or expired\. Ask its sender/,
      );
    });
  },
  SHARING_ENV,
);
