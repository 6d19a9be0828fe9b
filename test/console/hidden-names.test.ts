/** @module-tag long */
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { makeKey } from '../support/admin.ts';
import { describeConsole } from '../support/console-suite.ts';
import { createAgent } from '../support/start-console.ts';
import { freshTenant } from '../support/test-service.ts';

const LABEL = `the nightly summarizer of ${'all '.repeat(40)}`.slice(0, 150).replace(/ $/, '!');
const NAME = `${'f'.repeat(211)}.md`;
/** Path with 1,024 bytes. */
const LONG_PATH = `/memories/${['a', 'b', 'c', 'd'].map((letter) => letter.repeat(199)).join('/')}/${NAME}`;
const TENANT_NAME = 'a tenant with a name of its own '.repeat(6).trim();
const MOUNT_NAME = 'm'.repeat(100);
const WIDTHS = [1440, 1280, 400, 390];

/**
 * Returns the elements that extend beyond the window's right edge. The function is a string, because it runs in the
 * page.
 */
const findOverflowing = (page: Page) =>
  page.evaluate<string[]>(`(() => {
    const width = document.documentElement.clientWidth;
    const wide = [...document.querySelectorAll('table, .table-scroll, .name, h1, h2, .topbar, .toast, dialog')]
      .filter((element) => element.getBoundingClientRect().right > width + 1)
      .map((element) => element.className || element.tagName);
    return document.documentElement.scrollWidth > width ? ['the page', ...wide] : wide;
  })()`);

describeConsole('long names in the console', (fixture) => {
  async function longTenant(): Promise<string> {
    const { service } = fixture();
    const tenant = freshTenant().padEnd(128, 'x');
    await new Tenants(service.database).create(tenant);
    const agent = await createAgent(service.app, service.database, tenant, LABEL);
    await agent({ command: 'create', path: LONG_PATH, file_text: 'x\n' });
    return tenant;
  }

  it.each(WIDTHS)('fits long names into a window %i pixels wide on every page', async (width) => {
    expect(Buffer.byteLength(LONG_PATH)).toBe(1024);
    const tenant = await longTenant();
    const page = await fixture().openSignedIn('', { label: LABEL });
    const { key } = await fixture().createKey({ label: LABEL });
    await fetch(`${fixture().url}/v1/tenants/${tenant}/resume`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
    });
    const described = await fetch(`${fixture().url}/v1/tenants/${tenant}`, {
      method: 'PATCH',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ name: TENANT_NAME, description: 'much to say '.repeat(40) }),
    });
    expect(described.status).toBe(200);
    await fixture().createKey({ label: LABEL, onlyTenants: [tenant] });
    const mounted = await longTenant();
    const mount = await fetch(`${fixture().url}/v1/tenants/${tenant}/mounts/${MOUNT_NAME}`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ tenant: mounted, instructions: 'What the team knows. '.repeat(20) }),
    });
    expect(mount.ok).toBe(true);
    await fixture().service.app.usageCounts.flush();
    await page.setViewportSize({ width, height: 800 });
    const places: [place: string, isThere: () => Promise<unknown>][] = [
      [`?search=${tenant}`, () => page.getByRole('link', { name: TENANT_NAME }).first().waitFor()],
      ['overview', () => page.getByRole('img', { name: /^Calls by day/ }).waitFor()],
      [`audit?tenant=${tenant}`, () => page.getByText('Resume a tenant').first().waitFor()],
      ['keys', () => page.getByRole('rowheader', { name: LABEL }).first().waitFor()],
      [`tenants/${tenant}?path=${LONG_PATH}`, () => page.getByRole('heading', { name: NAME }).waitFor()],
      [
        `tenants/${tenant}/settings`,
        async () => {
          await page.getByRole('rowheader', { name: LABEL }).waitFor();
          await page.getByRole('cell').getByRole('link', { name: mounted }).waitFor();
        },
      ],
    ];
    for (const [place, isThere] of places) {
      await page.goto(`${fixture().url}/#/${place}`);
      await isThere();
      expect([place, await findOverflowing(page)]).toStrictEqual([place, []]);
    }
    await page.getByRole('button', { name: 'Delete tenant…' }).click();
    expect(await findOverflowing(page)).toStrictEqual([]);
  });

  it('shortens long names, but shows them in full on hover and copies them in full', async () => {
    const tenant = await longTenant();
    const page = await fixture().openSignedIn(`#/tenants/${tenant}?path=${LONG_PATH}`);
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    const readClipboard = () => page.evaluate<string>('navigator.clipboard.readText()');
    const heading = page.getByRole('heading', { level: 2 });
    expect(await heading.locator('.name-text').getAttribute('title')).toBe(LONG_PATH);
    await page.getByRole('button', { name: 'Copy the path' }).click();
    await expect.poll(readClipboard).toBe(LONG_PATH);
    expect(await page.getByRole('heading', { level: 1 }).locator('.name-text').getAttribute('title')).toBe(
      tenant,
    );
    await page.getByRole('button', { name: 'Copy the ID of the tenant' }).click();
    await expect.poll(readClipboard).toBe(tenant);
    expect(await page.getByRole('treeitem', { name: NAME }).getAttribute('title')).toBe(LONG_PATH);
  });

  it('lists memory stores with their ID and description, and finds them by name', async () => {
    const { service } = fixture();
    const { key } = await makeKey(service, { managesStores: true });
    const name = `Store ${freshTenant('named')}`;
    const created = await service.app.inject({
      method: 'POST',
      url: '/v1/memory_stores',
      headers: { 'x-api-key': key },
      payload: { name, description: 'What the team has learned' },
    });
    expect(created.statusCode).toBe(200);
    const page = await fixture().openSignedIn(`#/?search=${encodeURIComponent(name)}`);
    const row = page.locator('table.tenants tbody tr');
    await row.getByRole('link', { name }).waitFor();
    expect(await row.count()).toBe(1);
    const { id } = created.json();
    await row.getByText(`${id} · What the team has learned`).waitFor();
  });

  it("shows a memory store's name, description, and metadata on the settings page", async () => {
    const { service } = fixture();
    const { key } = await makeKey(service, { managesStores: true });
    const send = (url: string, payload: object = {}) =>
      service.app.inject({ method: 'POST', url, headers: { 'x-api-key': key }, payload });
    const details = { name: 'Playbook', description: 'What the team has learned', metadata: { plan: 'pro' } };
    const { id } = (await send('/v1/memory_stores', details)).json();
    const page = await fixture().openSignedIn(`#/tenants/${id}`);
    await page.getByText('Playbook · What the team has learned').waitFor();
    expect(await page.locator('.summary .badge').count()).toBe(0);
    expect((await send(`/v1/memory_stores/${id}/archive`)).statusCode).toBe(200);
    await page.goto(`${fixture().url}/#/tenants/${id}/settings`);
    await page.reload();
    const facts = page
      .locator('section.card')
      .filter({ has: page.getByRole('heading', { name: 'Details' }) });
    await facts.waitFor();
    expect(await facts.textContent()).toMatch(
      /^DetailsNamePlaybookDescriptionWhat the team has learnedArchived.*Files can only be read and deleted\.planpro$/,
    );
    expect(await page.locator('.summary .badge').textContent()).toBe('archived');
    await page.goto(`${fixture().url}/#/?search=${id}`);
    await page.getByRole('row', { name: 'Playbook' }).getByText('archived', { exact: true }).waitFor();
  });

  it('shows mounts and keys as cards with labeled values on a narrow screen', async () => {
    const tenant = await longTenant();
    const page = await fixture().openSignedIn(`#/tenants/${tenant}/settings`);
    await page.setViewportSize({ width: 400, height: 800 });
    const cell = page.getByRole('cell', { name: 'read, write' });
    await cell.waitFor();
    expect(await cell.getAttribute('data-title')).toBe('Access');
    await page.getByRole('columnheader', { name: 'Access' }).waitFor({ state: 'hidden' });
    await page.getByRole('button', { name: /^Revoke/ }).waitFor();
    await page.goto(`${fixture().url}/#/keys`);
    const link = page.getByRole('link', { name: tenant });
    await link.waitFor();
    expect((await link.boundingBox())?.width).toBeGreaterThan(200);
  });
});
