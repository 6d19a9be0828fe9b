/**
 * Shares for the threads that compare texts.
 *
 * @module-tag long-on-pglite
 */
import { once } from 'node:events';
import { expect, it } from 'vitest';
import { makeKey, useAdmin } from '../support/admin.ts';
import { hardToCompare } from '../support/hard-diff.ts';
import { cmd } from '../support/step-table.ts';
import { describeService, freshTenant } from '../support/test-service.ts';

const lines = (last: string) => `${'line\n'.repeat(300)}${last}\n`;

describeService('differences for two admins', (service) => {
  const admin = useAdmin(service);

  it("returns one admin's difference while another admin waits for two slow differences", async () => {
    const tenant = freshTenant('differences');
    const write = (command: object) => service().execute(command, { tenant });
    const { before, after } = hardToCompare();
    await write(cmd.create('/memories/slow', before));
    await write(cmd.replace('/memories/slow', before, after));
    await write(cmd.create('/memories/quick', lines('one')));
    await write(cmd.replace('/memories/quick', 'one', 'two'));
    const { body } = await admin().call('GET', `/tenants/${tenant}/versions`);
    const versions = body.versions as { id: string; path: string }[];
    const [busy, quiet] = await Promise.all([
      makeKey(service(), { isAdmin: true }),
      makeKey(service(), { isAdmin: true }),
    ]);
    const leave = new AbortController();
    const diff = (path: string, { key }: { key: string }) => {
      const [to, from] = versions.filter((version) => version.path === path);
      return admin().app.inject({
        url: `/v1/tenants/${tenant}/versions/${to?.id}/diff?against=${from?.id}`,
        headers: { authorization: `Bearer ${key}` },
        signal: leave.signal,
      });
    };
    const ended: string[] = [];
    const started = once(process, 'worker');
    const slow = [1, 2].map(async () => {
      await diff('/memories/slow', busy).catch(() => undefined);
      ended.push('slow');
    });
    await started;
    // The second slow difference arrives during these.
    for (let i = 0; i < 5; i++) {
      const quick = await diff('/memories/quick', quiet);
      expect(quick.json().changes[0].patch).toContain('-one\n+two\n');
    }
    expect(ended).toStrictEqual([]);
    leave.abort();
    await Promise.all(slow);
  });
});
