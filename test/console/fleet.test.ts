/** @module-tag long */
import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { describeInBrowser } from '../support/browser.ts';
import { describeConsole, signIn } from '../support/console-suite.ts';
import { createAdminKey, startConsole } from '../support/start-console.ts';
import { freshTenant, startService } from '../support/test-service.ts';
import { addFilter } from './add-filter.ts';

/** Colors in the first chart. The expression is a string, because it runs in the page. */
const COLORS = `(() => {
  const { width, height } = document.querySelector('.bar-chart canvas');
  const { data } = document.querySelector('.bar-chart canvas').getContext('2d').getImageData(0, 0, width, height);
  return [...new Set(Array.from({ length: data.length / 4 }, (_, i) => data.slice(4 * i, 4 * i + 3).join()))];
})()`;

describeConsole('a fleet of tenants in the console', (fixture) => {
  /** Creates tenants with numbered IDs, more than a page of the list shows. */
  async function createFleet(count: number) {
    const tenants = new Tenants(fixture().service.database);
    const prefix = freshTenant('fleet');
    const ids = Array.from({ length: count }, (_, i) => `${prefix}-${String(i).padStart(3, '0')}`);
    for (const [i, id] of ids.entries())
      await tenants.createWith(id, {}, { metadata: { plan: i % 2 === 0 ? 'pro' : 'free', of: prefix } });
    return { tenants, prefix, ids };
  }

  async function downloadFrom(page: Page, name: string): Promise<{ name: string; content: Buffer }> {
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('dialog').getByRole('button', { name, exact: true }).click(),
    ]);
    return { name: download.suggestedFilename(), content: await readFile(await download.path()) };
  }

  const openBulk = async (page: Page, name: string) => {
    await page.getByLabel('Select all shown').first().check();
    await page.getByRole('button', { name, exact: true }).click();
  };

  it('counts tenants, filters them by metadata, and keeps a saved view after a reload', async () => {
    const { prefix } = await createFleet(3);
    const page = await fixture().openSignedIn(`#/?search=${prefix}-`);
    const totals = page.locator('.tenant-totals');
    await expect.poll(() => totals.textContent()).toBe('3 tenants · 0 files · 0 B');
    await addFilter(page, 'Metadata');
    await page.getByLabel('Metadata').fill('plan');
    await page.getByText('The metadata filters after you type a key').waitFor();
    await expect.poll(() => totals.textContent()).toBe('3 tenants · 0 files · 0 B');
    expect(await page.getByRole('alert').count()).toBe(0);
    await page.getByLabel('Metadata').fill('plan=pro');
    await expect.poll(() => totals.textContent()).toBe('2 tenants · 0 files · 0 B');
    await page.getByText(`of=${prefix}, plan=pro`).first().waitFor();
    await page.getByRole('button', { name: 'Save view…' }).click();
    await page.getByRole('dialog').getByLabel('Name').fill('Paying');
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    await page.getByRole('link', { name: 'Tenants', exact: true }).click();
    await page.reload();
    const view = page.getByRole('link', { name: 'Paying', exact: true });
    expect(await view.getAttribute('aria-current')).toBeNull();
    await view.click();
    await page.getByRole('link', { name: `${prefix}-002`, exact: true }).waitFor();
    await expect.poll(() => totals.textContent()).toBe('2 tenants · 0 files · 0 B');
    expect(await view.getAttribute('aria-current')).toBe('page');
    expect(new URL(page.url()).hash).toBe(`#/?search=${prefix}-&metadata=plan%3Dpro`);
    await page.getByRole('button', { name: 'Delete the view Paying' }).click();
    await page.reload();
    await page.getByRole('link', { name: `${prefix}-002`, exact: true }).waitFor();
    expect(await view.count()).toBe(0);
  });

  it('changes all matching tenants on all pages, and continues an action that was stopped', async () => {
    const { tenants, prefix, ids } = await createFleet(60);
    const page = await fixture().openSignedIn(`#/?search=${prefix}-`);
    const dialog = page.getByRole('dialog');
    const countSuspended = async () =>
      (await Promise.all(ids.map((id) => tenants.find(id)))).filter((row) => row?.suspendedAt !== null)
        .length;
    await page.getByLabel('Select all shown').first().check();
    await page.getByText('50 selected').waitFor();
    await page.getByRole('button', { name: 'Select all 60 matching' }).click();
    await page.getByText('60 selected').waitFor();
    await page.getByRole('button', { name: 'Suspend…' }).click();
    await dialog.getByRole('heading', { name: 'Suspend 60 tenants?' }).waitFor();
    await dialog.getByText('and 50 more').waitFor();
    // The buttons are visible without scrolling, even in a low window.
    await page.setViewportSize({ width: 390, height: 300 });
    const cancel = await dialog.getByRole('button', { name: 'Cancel' }).boundingBox();
    expect((cancel?.y ?? 300) + (cancel?.height ?? 0)).toBeLessThan(300);
    await page.setViewportSize({ width: 1280, height: 720 });

    // Stops while the eleventh tenant waits for its response.
    let requests = 0;
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    await page.route('**/suspend', async (route) => {
      if (++requests > 10) await held;
      await route.continue();
    });
    await dialog.getByRole('button', { name: 'Suspend', exact: true }).click();
    await dialog.getByText('10 of 60 tenants', { exact: true }).waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    release();
    await dialog.getByRole('heading', { name: 'Suspended 14 tenants.' }).waitFor();
    await dialog.getByText('46 tenants not started, because you stopped.').waitFor();
    const outcomes = await downloadFrom(page, 'Outcomes as CSV');
    expect(outcomes.name).toBe('outcomes.csv');
    const lines = outcomes.content.toString().trimEnd().split('\r\n');
    expect([lines.length, lines[0], lines.filter((line) => line.includes('"stopped"')).length]).toStrictEqual(
      [61, '"tenant","result","reason"', 46],
    );
    expect(await countSuspended()).toBe(14);
    await dialog.getByRole('button', { name: 'Continue with 46 tenants' }).click();
    await page.getByText('Suspended 60 tenants.', { exact: true }).waitFor();
    expect(await countSuspended()).toBe(60);

    // The second action skips the suspended tenants.
    for (const id of ids.slice(0, 3)) await tenants.suspend(id, false);
    await page.getByLabel('Select all shown').first().check();
    await page.getByRole('button', { name: 'Select all 60 matching' }).click();
    await page.getByRole('button', { name: 'Suspend…' }).click();
    await dialog.getByRole('button', { name: 'Suspend', exact: true }).click();
    await page.getByText('Suspended 3 tenants.', { exact: true }).waitFor();
    expect(await countSuspended()).toBe(60);
  });

  it('keeps the keys created so far if the session ends, and continues after the next sign-in', async () => {
    const { service } = fixture();
    const { prefix, ids } = await createFleet(6);
    const page = await fixture().openSignedIn(`#/?search=${prefix}-`);
    const dialog = page.getByRole('dialog');
    // The response for the first tenant is lost. After the second attempt, the admin key is rejected.
    let attempts = 0;
    let resolveRetry = () => {};
    const isRetried = new Promise<void>((resolve) => {
      resolveRetry = resolve;
    });
    await page.route('**/v1/keys', async (route) => {
      const { tenant } = route.request().postDataJSON();
      if (tenant === ids[0] && ++attempts === 1) {
        await route.fetch();
        return route.abort();
      }
      if (tenant === ids[4] || tenant === ids[5]) {
        await isRetried;
        return route.fulfill({ status: 401, json: { code: 'unauthorized' } });
      }
      await route.continue();
      if (tenant === ids[0]) resolveRetry();
    });
    await page.getByLabel(`Select ${ids[0]}`).waitFor();
    await openBulk(page, 'New keys…');
    await dialog.getByRole('button', { name: 'Create keys' }).click();
    await page.getByText('The action on 6 tenants continues after you sign in.').waitFor();
    await page.unroute('**/v1/keys');
    await signIn(page, (await fixture().createKey()).key);
    await dialog.getByRole('heading', { name: 'Created a key for 4 tenants.' }).waitFor();
    await dialog.getByText('not started, because the action stopped. Your session ended.').waitFor();
    await dialog.getByRole('button', { name: 'Continue with 2 tenants' }).click();
    await dialog.getByRole('heading', { name: 'Created a key for 6 tenants.' }).waitFor();

    await page.keyboard.press('Escape');
    await dialog.getByRole('heading', { name: 'Leave without the keys?' }).waitFor();
    await dialog.getByRole('button', { name: 'Stay' }).click();
    const { content } = await downloadFrom(page, 'Keys as CSV');
    const lines = content.toString().trimEnd().split('\r\n');
    expect(lines.map((line) => line.split('","')[0]?.slice(1)).sort()).toStrictEqual([...ids, 'tenant']);
    // The repeated request created no second key.
    const created = await service.query('SELECT tenant_id FROM api_keys WHERE tenant_id = ANY ($1)', [ids]);
    expect(created.map((row) => row.tenant_id).sort()).toStrictEqual(ids);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'hidden' });
  });

  it('asks before a reload stops an action, and offers the archives that a stopped export has finished', async () => {
    const { prefix, ids } = await createFleet(2);
    const page = await fixture().openSignedIn(`#/?search=${prefix}-`);
    const dialog = page.getByRole('dialog');
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    await page.route(`**/tenants/${ids[1]}/export*`, async (route) => {
      await held;
      await route.continue();
    });
    await page.getByLabel(`Select ${ids[0]}`).waitFor();
    await openBulk(page, 'Export…');
    await dialog.getByRole('button', { name: 'Export', exact: true }).click();
    await dialog.getByText('1 of 2 tenants', { exact: true }).waitFor();
    await dialog.getByText('The action runs in this tab: keep the tab open.').waitFor();
    const asked = page.waitForEvent('dialog');
    // A reload by Playwright would wait for the page that the user does not leave.
    await page.evaluate('setTimeout(() => location.reload())');
    const question = await asked;
    expect(question.type()).toBe('beforeunload');
    await question.dismiss();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    release();
    await dialog.getByRole('heading', { name: 'Exported 1 tenant.' }).waitFor();
    const archive = await downloadFrom(page, 'Download 1 archive');
    expect(archive.name).toBe(`${ids[0]}.tar`);
    await dialog.getByRole('button', { name: 'Done', exact: true }).click();
    await dialog.waitFor({ state: 'hidden' });
  });

  it('adds a mount and keys to several tenants, and exports their archives', async () => {
    const { service } = fixture();
    const { tenants, prefix, ids } = await createFleet(2);
    const team = freshTenant('shared');
    await tenants.create(team);
    const page = await fixture().openSignedIn(`#/?search=${prefix}-`);
    const dialog = page.getByRole('dialog');
    await page.getByLabel(`Select ${ids[0]}`).waitFor();
    await openBulk(page, 'Mount…');
    const field = dialog.getByRole('combobox', { name: 'Tenant whose memory it shows' });
    await field.fill('shared-');
    const suggestions = dialog.getByRole('listbox', { name: 'Tenants' });
    await suggestions.getByRole('option', { name: team, exact: true }).waitFor();
    await field.press('ArrowDown');
    await field.press('Escape');
    await suggestions.waitFor({ state: 'hidden' });
    await field.press('ArrowDown');
    await suggestions.getByRole('option', { name: team, exact: true, selected: true }).waitFor();
    await field.press('Enter');
    expect(await field.inputValue()).toBe(team);
    await dialog.getByLabel('Name of the directory').fill('team');
    await dialog.getByRole('button', { name: 'Mount', exact: true }).click();
    await page.getByText('Mounted into 2 tenants.').waitFor();
    for (const id of ids)
      expect((await tenants.find(id))?.mounts.map(({ name, tenant }) => [name, tenant])).toStrictEqual([
        ['team', team],
      ]);

    await openBulk(page, 'New keys…');
    await dialog.getByLabel('Label').fill('rollout');
    await dialog.getByRole('button', { name: 'Create keys' }).click();
    await dialog.getByRole('heading', { name: 'Created a key for 2 tenants.' }).waitFor();
    await dialog.getByText('You have not downloaded or copied the keys.').waitFor();
    const keys = (await downloadFrom(page, 'Keys as CSV')).content
      .toString()
      .trimEnd()
      .split('\r\n')
      .slice(1);
    expect(keys.map((line) => line.split('","')[0]?.slice(1)).sort()).toStrictEqual(ids);
    const secret = keys[0]?.split('","')[2]?.slice(0, -1) ?? '';
    const answer = await service.app.inject({
      method: 'POST',
      url: '/execute',
      headers: { authorization: `Bearer ${secret}` },
      payload: { command: 'view', path: '/memories' },
    });
    expect([answer.statusCode, answer.json().content]).toStrictEqual([
      200,
      expect.stringContaining('/memories/team'),
    ]);
    await dialog.getByRole('button', { name: 'Done', exact: true }).click();

    await openBulk(page, 'Export…');
    const archive = await downloadFrom(page, 'Export');
    expect(archive.name).toBe('memories.tar');
    // A tar header begins with the file's name.
    for (const id of ids) expect(archive.content.includes(`${id}.tar`)).toBe(true);
    await dialog.getByRole('heading', { name: 'Exported 2 tenants.' }).waitFor();
    await dialog.getByRole('button', { name: 'Done', exact: true }).click();
  });

  it("edits a tenant's name, description, and metadata, and asks before overwriting a newer change", async () => {
    const { service } = fixture();
    const id = freshTenant('described');
    const page = await fixture().openSignedIn('#/');
    await page.getByRole('button', { name: 'New tenant' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox', { name: /^ID/ }).fill(id);
    await dialog.getByLabel('Name').fill('Acme support');
    await dialog.getByRole('button', { name: 'Add metadata' }).click();
    await dialog.getByLabel('Key of pair 1').fill('plan');
    await dialog.getByLabel('Value of pair 1').fill('pro');
    await dialog.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByRole('link', { name: 'Settings' }).first().click();
    const details = page.locator('.details-form');
    const save = details.getByRole('button', { name: 'Save details' });
    await save.waitFor();
    expect(await save.isDisabled()).toBe(true);
    const row = async () => {
      const [found] = await service.query('SELECT name, description, metadata FROM tenants WHERE id = $1', [
        id,
      ]);
      return found;
    };
    expect(await row()).toStrictEqual({ name: 'Acme support', description: '', metadata: { plan: 'pro' } });
    await details.getByLabel('Description').fill('Answers of the support team.');
    await details.getByRole('button', { name: 'Remove pair 1' }).click();
    await details.getByRole('button', { name: 'Add metadata' }).click();
    await details.getByLabel('Key of pair 1').fill('region');
    await details.getByLabel('Value of pair 1').fill('eu');
    await service.query("UPDATE tenants SET description = 'Someone else.' WHERE id = $1", [id]);
    await save.click();
    await dialog.getByText('Description is now: Someone else.').waitFor();
    await dialog.getByRole('button', { name: 'Overwrite' }).click();
    await page.getByText('Saved the details.').waitFor();
    expect(await row()).toStrictEqual({
      name: 'Acme support',
      description: 'Answers of the support team.',
      metadata: { region: 'eu' },
    });
  });

  it("shows a tenant's usage by day or by hour, as a chart or as a table", async () => {
    const { service } = fixture();
    const tenant = await fixture().poisonedTenant();
    await service.query(
      `INSERT INTO tenant_usage (tenant_id, day, files, bytes, history_bytes, reads, writes, rejected)
       VALUES ($1, current_date - 20, 1, 2048, 1, 70, 20, 3), ($1, current_date - 2, 2, 3072, 1, 5, 1, 0)`,
      [tenant],
    );
    const page = await fixture().openSignedIn(`#/tenants/${tenant}/settings`);
    const calls = page.getByRole('img', { name: /^Calls by day/ });
    expect(await calls.getAttribute('aria-label')).toMatch(/, at most 93$/);
    // The bar for 20 days ago is the 10th of 30.
    const over = calls.locator('.u-over');
    const { width } = (await over.boundingBox()) ?? { width: 0 };
    const valuesAtBar = async () => {
      await over.hover({ position: { x: (9.5 / 30) * width, y: 40 } });
      return calls.locator('.u-legend tr').allTextContents();
    };
    const day = new Date(Date.now() - 20 * 86_400_000).toISOString().slice(0, 10);
    await expect.poll(valuesAtBar).toStrictEqual([`Value${day}`, 'reads70', 'writes20', 'rejected3']);
    // The bars follow the color scheme.
    const colors = () => page.evaluate<string[]>(COLORS);
    await expect.poll(colors).toContain('79,107,237');
    await page.emulateMedia({ colorScheme: 'dark' });
    await expect.poll(colors).toContain('123,147,255');
    await page.getByText('As a table: Size of all files').click();
    const table = page.locator('.chart-values table');
    // The days from the first record on. A day without a record has the size from the day before.
    await table.locator('tbody td').nth(4).waitFor();
    const sizes = await table.locator('tbody td').allTextContents();
    expect(sizes.slice(2, 5)).toStrictEqual(['3 KB', '2 KB', '2 KB']);
    await page.getByRole('button', { name: 'Hours of 7 days' }).click();
    const hours = page.getByRole('img', { name: /^Changes by hour/ });
    await hours.waitFor();
    await page.getByText('As a table: Changes').click();
    const changes = page.locator('.chart-values tbody td');
    await expect.poll(() => changes.count()).toBe(168);
    // The scenario's changes, which may fall into two different hours.
    expect((await changes.allTextContents()).reduce((sum, each) => sum + Number(each), 0)).toBe(15);
  });

  it("shows the usage as a table when the chart's code fails to load", async () => {
    const { app } = fixture().service;
    const tenant = await fixture().poisonedTenant();
    await app.usageCounts.flush();
    const page = await fixture().openSignedIn('#/');
    await page.route('**/bar-plot-*.js', (route) => route.abort());
    await page.goto(`${fixture().url}/#/tenants/${tenant}/settings`);
    await page.getByRole('button', { name: 'Try again' }).first().waitFor();
    await page.getByText('As a table: Calls').click();
    const cells = page.locator('.chart-values tbody td');
    await expect.poll(() => cells.nth(1).textContent()).toBe('15');
    await page.unroute('**/bar-plot-*.js');
    await page.getByRole('button', { name: 'Try again' }).first().click();
    await page.getByRole('img', { name: /^Calls by day/ }).waitFor();
  });

  it("lists each tenant's settings before and after a change, and undoes the change", async () => {
    const { tenants, prefix, ids } = await createFleet(3);
    const [less = '', more = ''] = ids;
    for (const id of ids) await tenants.set(id, { maxFiles: 100 });
    await tenants.set(less, { maxFiles: 50 });
    await tenants.set(more, { maxFiles: 500 });
    const page = await fixture().openSignedIn(`#/?search=${prefix}-`);
    const dialog = page.getByRole('dialog').first();
    await page.getByLabel('Select all shown').first().check();
    await page.getByRole('button', { name: 'Change settings…' }).click();
    await dialog.getByRole('textbox', { name: /^Files/ }).fill('100');
    const changes = dialog.getByRole('status');
    await changes.getByText('Files: raised to 100 for 1 tenant.').waitFor();
    await changes.getByText('Files: lowered to 100 for 1 tenant.').waitFor();
    const rows = dialog.getByRole('table').locator('tbody').getByRole('row');
    expect(await rows.allTextContents()).toStrictEqual([`${less}Files50100`, `${more}Files500100`]);
    await dialog.getByRole('button', { name: 'Change settings', exact: true }).click();
    await page.getByText('Changed the settings of 3 tenants.').waitFor();
    const limits = () => Promise.all(ids.map(async (id) => (await tenants.find(id))?.maxFiles));
    expect(await limits()).toStrictEqual([100, 100, 100]);
    await tenants.set(less, { maxFiles: 70 });
    await page.getByRole('button', { name: 'Undo' }).click();
    await dialog.getByText(`${less}: The settings were changed since.`).waitFor();
    await dialog.getByText('1 tenant needed no change.').waitFor();
    expect(await limits()).toStrictEqual([70, 500, 100]);
  });
});

describeInBrowser('the console in a new installation', (browser) => {
  it('shows the first steps until the first tenant is created', async () => {
    const service = await startService('pglite', { AUTH: 'keys' });
    const console_ = await startConsole(service.database);
    const { key } = await createAdminKey(service.database);
    const context = await browser().newContext({ locale: 'en-US' });
    const page = await context.newPage();
    await page.goto(console_.url);
    await signIn(page, key);
    await page.getByRole('heading', { name: 'Three steps to the first memory' }).waitFor();
    await page.getByText('memory-service tenants create acme').waitFor();
    await page.getByText(/^curl http:\/\/127\.0\.0\.1:8080\/execute/).waitFor();
    expect(await page.getByRole('button', { name: /^Copy the command of/ }).count()).toBe(2);
    await page.setViewportSize({ width: 360, height: 800 });
    expect(await page.locator('html').evaluate(({ scrollWidth }) => scrollWidth)).toBe(360);
    await page.goto(`${console_.url}/#/?search=nobody`);
    await page.getByText('No matching tenants').waitFor();
    await page.getByLabel('Search tenants').fill('');
    await page.getByRole('button', { name: 'Create a tenant…' }).click();
    await page.getByRole('dialog').getByRole('textbox', { name: /^ID/ }).fill('first');
    await page.getByRole('dialog').getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByRole('heading', { name: 'Connect an agent' }).waitFor();
    await page.getByRole('link', { name: 'Tenants', exact: true }).first().click();
    await page.getByRole('link', { name: 'first', exact: true }).waitFor();
    expect(await page.getByText('Three steps').count()).toBe(0);
    await context.close();
    await console_.close();
    await service.close();
  });
});
