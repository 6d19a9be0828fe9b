/**
 * Shares for the threads that compare texts.
 *
 * @module-tag long-on-pglite
 */
import { expect, it } from 'vitest';
import { makeKey, useAdmin } from '../support/admin.ts';
import { cmd } from '../support/step-table.ts';
import { describeService, freshTenant } from '../support/test-service.ts';

const digits = (seed: number) =>
  Array.from({ length: 20_000 }, (_, i) => `${((i * 7919 + seed * 31) >> 3) % 3}\n`).join('');
const lines = (last: string) => `${'line\n'.repeat(300)}${last}\n`;

describeService('differences for two admins', (service) => {
  const admin = useAdmin(service);

  it("returns one admin's difference while another admin waits for many slow differences", async () => {
    const tenant = freshTenant('differences');
    const run = (...commands: object[]) =>
      Promise.all(commands.map((command) => service().execute(command, { tenant })));
    for (const [slow, quick] of [
      [digits(1), lines('one')],
      [digits(2), lines('two')],
    ] as const) {
      await run(cmd.create('/memories/slow', slow), cmd.create('/memories/quick', quick));
      if (quick === lines('one')) await run(cmd.delete('/memories/slow'), cmd.delete('/memories/quick'));
    }
    const { body } = await admin().call('GET', `/tenants/${tenant}/versions?operation=created`);
    const versions = body.versions as { id: string; path: string }[];
    const diff = async (path: string, key: string) => {
      const [to, from] = versions.filter((version) => version.path === path);
      const url = `/tenants/${tenant}/versions/${to?.id}/diff?against=${from?.id}`;
      const { body } = await admin().call('GET', url, { key });
      return (body.changes as { patch: string }[])[0]?.patch;
    };
    const [busy, quiet] = await Promise.all([
      makeKey(service(), { isAdmin: true }),
      makeKey(service(), { isAdmin: true }),
    ]);
    // Both start a thread, because each takes longer than the other needs to arrive.
    await Promise.all([diff('/memories/slow', busy.key), diff('/memories/slow', quiet.key)]);
    const ended: string[] = [];
    const slow = Array.from({ length: 6 }, async () => {
      await diff('/memories/slow', busy.key);
      ended.push('slow');
    });
    expect(await diff('/memories/quick', quiet.key)).toContain('-one\n+two\n');
    ended.push('quick');
    await Promise.all(slow);
    expect(ended.slice(-2)).toStrictEqual(['slow', 'slow']);
  });
});
