/** @module-tag long */
import axe from 'axe-core';
import type { Locator } from 'playwright-core';
import { expect, it } from 'vitest';
import { setMount } from '../../src/core/tenants/mounts.ts';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { describeConsole } from '../support/console-suite.ts';
import { freshTenant } from '../support/test-service.ts';

describeConsole("a tenant's mounts in the console", (fixture) => {
  it('adds, changes, and removes a mount, and shows it in the mounted tenant', async () => {
    const { service, openSignedIn } = fixture();
    const tenants = new Tenants(service.database);
    const [own, team] = [freshTenant('own'), freshTenant('team')];
    for (const each of [own, team]) await tenants.create(each);
    const page = await openSignedIn(`#/tenants/${own}/settings`);
    await page.getByText('No mounts').waitFor();

    await page.getByRole('button', { name: 'New mount' }).click();
    await page.getByLabel('Tenant whose memory it shows').fill('nobody');
    await page.getByLabel('Name of the directory').fill('team');
    await page.getByLabel('Instructions for agents').fill('What all have learned.');
    await page.getByRole('button', { name: 'Mount', exact: true }).click();
    await page.getByText('Tenant nobody does not exist.').waitFor();
    await page.getByLabel('Tenant whose memory it shows').fill(team);
    await page.getByRole('button', { name: 'Mount', exact: true }).click();
    await page.getByText('Added the mount.').waitFor();
    const mount = {
      name: 'team',
      tenant: team,
      createdAt: expect.any(String),
      access: 'read_only',
      instructions: 'What all have learned.',
    };
    expect((await tenants.find(own))?.mounts).toStrictEqual([mount]);

    const row = page.getByRole('row', { name: '/memories/team' });
    expect((await row.textContent())?.replace(/\s+/g, ' ')).toContain('What all have learned.');
    await page.getByRole('button', { name: 'Edit team' }).click();
    await page.getByRole('dialog').getByLabel('Access').selectOption('Read and write');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('Saved the mount.').waitFor();
    expect((await tenants.find(own))?.mounts).toStrictEqual([{ ...mount, access: 'read_write' }]);
    await page.locator('.summary a', { hasText: '/memories/team' }).waitFor();

    await row.getByRole('link', { name: team }).click();
    await page.getByRole('heading', { name: 'Mounted in' }).waitFor();
    const item = page.getByRole('listitem').filter({ hasText: own });
    expect(await item.textContent()).toBe(`${own} as /memories/team (read, write)`);

    await item.getByRole('link', { name: own }).click();
    await page.getByRole('button', { name: 'Remove team' }).click();
    await page.getByRole('button', { name: 'Remove', exact: true }).click();
    await page.getByText('No mounts').waitFor();
    expect((await tenants.find(own))?.mounts).toStrictEqual([]);
  });

  it("shows a mount's access in the tree, and its instructions in the memory's summary", async () => {
    const { service, poisonedTenant, openSignedIn } = fixture();
    const [own, team] = [await poisonedTenant(), await poisonedTenant()];
    const mount = { name: 'team', tenant: team, access: 'read_write', instructions: 'Ask first.' } as const;
    await setMount(service.database, own, mount);
    await setMount(service.database, own, { ...mount, name: 'rules', access: 'read_only' });
    const page = await openSignedIn(`#/tenants/${own}`);
    const rows = page.locator('.tree-row.mount');
    await expect
      .poll(() => rows.allTextContents())
      .toStrictEqual([`rulesof ${team}read only`, `teamof ${team}read and write`]);
    const summary = page.getByRole('group', { name: 'Summary of the memory' });
    expect(await summary.getByRole('region', { name: 'Size' }).textContent()).toContain('Files: 9 files');
    await expect
      .poll(() => summary.getByRole('region', { name: 'Last changes' }).getByRole('listitem').count())
      .toBe(8);
    await summary
      .getByText('- /memories/team (you can write; view a file right before you change it): Ask first.')
      .waitFor();
    await page.evaluate(axe.source);
    for (const width of [360, 390, 768, 1000, 1280, 1600]) {
      await page.setViewportSize({ width, height: 800 });
      const { violations } = await page.evaluate<axe.AxeResults>('axe.run()');
      expect(
        violations.map(({ id, nodes }) => [id, ...nodes.map(({ target }) => String(target))]),
      ).toStrictEqual([]);
      expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBe(0);
    }
    await summary.getByRole('link', { name: 'instructions.md' }).click();
    await page.getByRole('link', { name: 'See the memory then' }).waitFor();
    await page.goBack();
    // The tree opens a mount's source, also by keyboard.
    const tree = page.getByRole('tree');
    await tree.focus();
    for (const key of ['Home', 'ArrowDown', 'Enter']) await tree.press(key);
    await page.getByRole('heading', { name: team, level: 1 }).waitFor();
    await expect.poll(() => page.getByRole('treeitem').count()).toBeGreaterThan(5);
    expect(await rows.count()).toBe(0);
  });

  it('warns in the header, the tree, and the summary if a mounted tenant is missing', async () => {
    const { service, openSignedIn } = fixture();
    const [own, team] = [freshTenant('own'), freshTenant('team')];
    for (const each of [own, team]) await new Tenants(service.database).create(each);
    const mount = { name: 'team', tenant: team, access: 'read_only', instructions: '' } as const;
    await setMount(service.database, own, mount);
    const broken = `UPDATE tenants SET mounts = replace(mounts::text, $2, $3)::jsonb WHERE id = $1`;
    await service.query(broken, [own, team, `${team}-gone`]);
    const page = await openSignedIn(`#/tenants/${own}`);
    const problem = (place: Locator) => place.getByText('There is no such tenant').waitFor();
    await problem(page.locator('.tenant-head'));
    await problem(page.locator('.tree-row.mount'));
    await problem(page.getByRole('region', { name: 'Mounts' }));
    // The name is no link to a page that does not exist.
    expect(await page.locator('.tenant-head').getByRole('link', { name: '/memories/team' }).count()).toBe(0);
    await page.setViewportSize({ width: 360, height: 640 });
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBe(0);
    await service.query(broken, [own, `${team}-gone`, team]);
  });
});
