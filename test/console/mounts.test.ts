/** @module-tag long */
import { expect, it } from 'vitest';
import { Tenants } from '../../src/tenants/tenants.ts';
import { describeConsole } from '../support/console-suite.ts';
import { freshTenant } from '../support/service.ts';

describeConsole('the mounts of a tenant in the console', (fixture) => {
  it('are added, changed, and removed, and displayed in the mounted tenant', async () => {
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
});
