/** @module-tag long */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { describeConsole, signIn } from '../support/console-suite.ts';
import { type Console, startConsole } from '../support/start-console.ts';
import { freshTenant } from '../support/test-service.ts';

const dialog = (page: Page) => page.getByRole('dialog');
const section = (page: Page, title: string) =>
  page.locator('section.card').filter({ has: page.getByRole('heading', { name: title, exact: true }) });
const inviteButton = (page: Page) => page.getByRole('button', { name: 'Invite…' });
const acceptButton = (page: Page) => page.getByRole('button', { name: 'Accept…' });

describeConsole('sharing in the console', (fixture) => {
  let withoutSharing: Console;
  beforeAll(async () => {
    withoutSharing = await startConsole(fixture().service.database);
  });
  afterAll(() => withoutSharing.close());

  async function createTenants(): Promise<{ giver: string; receiver: string }> {
    const tenants = new Tenants(fixture().service.database);
    const [giver, receiver] = [freshTenant('giver'), freshTenant('receiver')];
    for (const each of [giver, receiver]) await tenants.create(each);
    return { giver, receiver };
  }

  async function send(method: string, path: string, body: object): Promise<Record<string, string>> {
    const { key } = await fixture().createKey();
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const response = await fetch(`${fixture().url}/v1/${path}`, {
      method,
      headers,
      body: JSON.stringify(body),
    });
    return (await response.json()) as Record<string, string>;
  }

  async function share({ giver, receiver }: { giver: string; receiver: string }): Promise<void> {
    const invitation = { access: 'read_write', prefix: '/memories/shared' };
    const { token } = await send('POST', `tenants/${giver}/invitations`, invitation);
    await send('POST', `tenants/${receiver}/shares`, { token, name: 'team' });
  }

  it('creates an invitation by keyboard, accepts its token for another tenant, and revokes it', async () => {
    const { giver, receiver } = await createTenants();
    const page = await fixture().openSignedIn(`#/tenants/${giver}/settings`);
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.getByText('No invitations, and no shares').waitFor();
    await inviteButton(page).press('Enter');
    await dialog(page).getByLabel('Access').selectOption('Propose changes');
    await dialog(page).getByLabel('Shown path').fill('/memories/plans');
    await dialog(page).getByLabel('Expires').selectOption('In 30 days');
    await dialog(page).getByLabel('Several tenants may accept it').press('Space');
    await dialog(page).getByRole('button', { name: 'Invite', exact: true }).press('Enter');
    const token = await page.getByRole('textbox', { name: 'The token' }).inputValue();
    expect(token).toMatch(/^msi_/);
    await page.getByRole('button', { name: 'Copy the token' }).press('Enter');
    await page.getByRole('button', { name: 'Done' }).click();
    const invitation = section(page, 'Sharing').getByRole('row', { name: /^inv_/ });
    const cells = () => invitation.getByRole('cell').allTextContents();
    expect((await cells()).slice(0, 2)).toStrictEqual(['propose changes', 'several tenantsaccepted 0 times']);

    expect(await invitation.getByRole('rowheader').textContent()).toContain('only /memories/plans');

    await page.goto(`${fixture().url}/#/tenants/${receiver}/settings`);
    await acceptButton(page).click();
    await dialog(page).getByLabel('Token of the invitation').fill('msi_wrong');
    await dialog(page).getByLabel('Name of the directory').fill('team');
    await dialog(page).getByLabel('Instructions for agents').fill('Ask first.');
    await dialog(page).getByRole('button', { name: 'Accept' }).click();
    expect(await dialog(page).getByRole('alert').textContent()).toBe(
      'The field token is not the token of an invitation.',
    );
    await dialog(page).getByLabel('Token of the invitation').fill(` ${token}\n`);
    await dialog(page).getByRole('button', { name: 'Accept' }).click();
    await page.getByText('Accepted the invitation.').waitFor();
    expect((await new Tenants(fixture().service.database).find(receiver))?.mounts).toMatchObject([
      {
        name: 'team',
        tenant: giver,
        access: 'propose',
        prefix: '/memories/plans',
        instructions: 'Ask first.',
      },
    ]);
    const received = section(page, 'Sharing').getByRole('row', { name: giver });
    expect(await received.getByRole('rowheader').textContent()).toContain('as /memories/team');

    await received.getByRole('link', { name: giver }).click();
    await section(page, 'Sharing').getByRole('row', { name: receiver }).waitFor();
    expect((await cells())[1]).toBe('several tenantsaccepted 1 time');
    await page.getByRole('button', { name: /^Revoke inv_/ }).click();
    await dialog(page).getByRole('button', { name: 'Revoke' }).click();
    await page.getByText('Revoked the invitation.').waitFor();
    expect(await invitation.count()).toBe(0);
    expect(await section(page, 'Sharing').getByRole('row', { name: receiver }).count()).toBe(1);
  });

  it('marks the mount of a share, changes only its access and instructions, and ends the share', async () => {
    const both = await createTenants();
    await share(both);
    const { giver, receiver } = both;
    const page = await fixture().openSignedIn(`#/tenants/${receiver}/settings`);
    const mount = section(page, 'Mounts').getByRole('row', { name: '/memories/team' });
    await mount.getByText('share', { exact: true }).waitFor();
    await mount.getByRole('button', { name: 'Edit team' }).click();
    expect(await dialog(page).getByText(`The memory of ${giver}, by a share`).count()).toBe(1);
    expect(await dialog(page).getByLabel('Tenant whose memory it shows').count()).toBe(0);
    expect(await dialog(page).getByLabel('Shown path').inputValue()).toBe('/memories/shared');
    await dialog(page).getByLabel('Access').selectOption('Read only');
    await dialog(page).getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved the mount.').waitFor();
    const given = section(page, 'Sharing').getByRole('row', { name: giver });
    await given.getByText('read only').waitFor();
    await mount.getByText('/memories/shared').waitFor();
    await mount.getByRole('button', { name: 'Remove team' }).click();
    await dialog(page).getByText('The share ends.').waitFor();
    await page.keyboard.press('Escape');

    // The giving tenant ends the share, too.
    await page.goto(`${fixture().url}/#/tenants/${giver}/settings`);
    await page.getByRole('button', { name: /^End shr_/ }).click();
    await dialog(page).getByRole('button', { name: 'End' }).click();
    await page.getByText('Ended the share.').waitFor();
    await page.getByText('No invitations, and no shares').waitFor();
    expect((await new Tenants(fixture().service.database).find(receiver))?.mounts).toStrictEqual([]);
  });

  it('shows shares without their actions to keys that may not manage tenants, and hides other tenants', async () => {
    const both = await createTenants();
    await share(both);
    const { giver, receiver } = both;
    const scoped = await fixture().openSignedIn(`#/tenants/${giver}/settings`, { onlyTenants: [giver] });
    await section(scoped, 'Sharing').getByText('another tenant').waitFor();
    expect(await scoped.getByText(receiver).count()).toBe(0);
    for (const access of ['read_only', 'operate'] as const) {
      const page = await fixture().openSignedIn(`#/tenants/${giver}/settings`, { access });
      await section(page, 'Sharing').getByRole('row', { name: receiver }).waitFor();
      expect(await section(page, 'Sharing').getByRole('button').count()).toBe(0);
    }
  });

  it('says how to turn sharing on, and still ends shares', async () => {
    const both = await createTenants();
    await share(both);
    const page = await (await fixture().newContext()).newPage();
    await page.goto(`${withoutSharing.url}/#/tenants/${both.receiver}/settings`);
    await signIn(page, (await fixture().createKey()).key);
    await section(page, 'Sharing')
      .getByText('Sharing is off, so nobody creates or accepts invitations. Set SHARING=on to allow it.')
      .waitFor();
    for (const button of [inviteButton(page), acceptButton(page)]) expect(await button.count()).toBe(0);
    await page.getByRole('button', { name: /^End shr_/ }).click();
    await dialog(page).getByRole('button', { name: 'End' }).click();
    await page.getByText('Ended the share.').waitFor();
    await page.getByText('No mounts').waitFor();
  });
});
