/** @module-tag long */
import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { makeKey } from '../support/admin.ts';
import { describeConsole } from '../support/console-suite.ts';
import { cmd } from '../support/step-table.ts';
import { freshTenant } from '../support/test-service.ts';
import { addFilter } from './add-filter.ts';
import { proposeDraft } from './draft-scenario.ts';

describeConsole('the overview and the audit page', (fixture) => {
  it('shows totals, usage over time, and the tenants that need attention', async () => {
    const { database, app, query } = fixture().service;
    const tenants = new Tenants(database);
    const active = await fixture().poisonedTenant();
    await app.usageCounts.flush();
    // The two tenants sort first in lists that other suites also fill.
    const [full, suspended] = [await fixture().poisonedTenant(), await fixture().poisonedTenant()];
    await tenants.set(full, { maxFiles: 1 });
    await tenants.suspend(suspended, true);
    await query(
      `INSERT INTO tenant_usage (tenant_id, day, files, bytes, history_bytes, reads, writes, rejected)
       SELECT $1::text, current_date - 3, 1, 1, 1, 1000000, 5000, 12`,
      [active],
    );
    const page = await fixture().openSignedIn('#/overview');
    const card = (name: string) =>
      page.locator('section.card').filter({ has: page.getByRole('heading', { name }) });
    await card('Most active').getByRole('link', { name: active, exact: true }).waitFor();
    expect(await card('Most active').locator('li').first().textContent()).toMatch(
      /1,005,\d{3} calls, 12 rejected$/,
    );
    await card('Near a limit').getByRole('link', { name: full, exact: true }).waitFor();
    await card('Suspended').getByRole('link', { name: suspended, exact: true }).waitFor();
    const chart = page.getByRole('img', { name: /^Calls by day/ });
    expect(await chart.getAttribute('aria-label')).toMatch(/, at most 1,005,012$/);
    // The first bar is the first day in the period.
    const firstDay = async () => {
      await chart.locator('.u-over').hover({ position: { x: 2, y: 40 } });
      return chart.locator('.u-legend tr').first().textContent();
    };
    const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10);
    await expect.poll(firstDay).toContain(daysAgo(29));
    await page.getByLabel('Show').selectOption('7 days');
    await expect.poll(firstDay).toContain(daysAgo(6));
    expect(await page.title()).toBe('Overview · Memory console');

    await page.goto(`${fixture().url}/#/?state=suspended&search=${suspended}`);
    await page.getByRole('link', { name: suspended, exact: true }).waitFor();
    await page.getByLabel('State').selectOption('Active');
    await page.getByText('No matching tenants').waitFor();
  });

  it('shows the calls, rejections, and servers of the last hour, and opens their lists', async () => {
    const { database, app, execute } = fixture().service;
    const tenant = freshTenant('busy');
    await new Tenants(database).create(tenant);
    const { key, id } = await makeKey(fixture().service, { tenant, label: `agent of ${tenant}` });
    const send = (input: unknown) => execute(input, { headers: { authorization: `Bearer ${key}` } });
    await send(cmd.create('/memories/a.md', 'a'));
    await send(cmd.view('/memories'));
    // The counts put the key first in lists that other suites also fill.
    const caller = { tenant, actor: { type: 'api_key' as const, id, label: `agent of ${tenant}` } };
    app.activity.add(caller, { reads: 199, writes: 0 }, new Array(100).fill('over_quota'));
    await app.activity.flush();
    const page = await fixture().openSignedIn('#/overview');
    const hour = page.getByRole('region', { name: 'Last hour' });
    const rows = (title: string) =>
      hour
        .locator('section.card')
        .filter({ has: page.getByRole('heading', { name: title }) })
        .locator('li');
    const row = (title: string) => rows(title).filter({ hasText: `agent of ${tenant}` });
    expect(await row('Most calls').textContent()).toBe(`key agent of ${tenant}${tenant}200 reads, 1 write`);
    expect(await row('Most rejections').textContent()).toBe(`key agent of ${tenant}${tenant}100 over quota`);
    expect(await rows('Latency').filter({ hasText: 'view' }).textContent()).toMatch(
      /^view\d+ calls?\d[\d.,]* ms, 95 % within \d[\d.,]* ms$/,
    );
    expect((await rows('Servers').allTextContents())[0]).toMatch(/^Embedded Postgres\d/);
    expect(await rows('Servers').count()).toBeGreaterThan(1);

    // The page reads the activity again without a change.
    await send(cmd.view('/memories'));
    await app.activity.flush();
    await expect.poll(() => row('Most calls').textContent(), { timeout: 30_000 }).toContain('201 reads');

    await row('Most calls').getByRole('link', { name: '1 write' }).click();
    await page.getByText('a.md', { exact: true }).first().waitFor();
    await page.goBack();
    await row('Most calls')
      .getByRole('link', { name: `agent of ${tenant}` })
      .click();
    await page.getByRole('heading', { name: 'Keys' }).waitFor();
    expect(new URL(page.url()).hash).toBe(`#/keys?search=${id}`);
    await page.goBack();
    await row('Most rejections').getByRole('link', { name: '100 over quota' }).click();
    await page.getByRole('textbox', { name: /^Files/ }).waitFor();
  });

  it('shows waiting drafts with the oldest one, and jobs that failed', async () => {
    const { database, app, query } = fixture().service;
    const tenants: string[] = [];
    for (let i = 0; i < 6; i++) {
      const tenant = await fixture().poisonedTenant();
      await proposeDraft(app, database, tenant);
      tenants.push(tenant);
    }
    await query("UPDATE drafts SET created_at = now() - interval '3 days' WHERE tenant_id = $1", [
      tenants[0],
    ]);
    const job = '0b9ee7d4-2f6e-4e5f-8f5e-0c8f6a1d9b51';
    await query(
      `INSERT INTO jobs (id, kind, state, request, selection, created_by, created_at, ended_at, tenants, tenants_done, tenants_failed, slice_at)
       VALUES ($1, 'find', 'done', '{"where":"both","places":["current"],"mode":"literal"}', '{}', '{"type":"anonymous"}', now(), now(), 3, 3, 2, now())`,
      [job],
    );
    const page = await fixture().openSignedIn('#/overview');
    const card = (name: string) =>
      page.locator('section.card').filter({ has: page.getByRole('heading', { name }) });
    await card('Drafts to review')
      .getByText(/^All \d+$/)
      .waitFor();
    expect(await card('Drafts to review').locator('p').textContent()).toMatch(
      /^All \d+, the oldest 3 days ago$/,
    );
    const failed = card('Jobs').locator('li').filter({ hasText: 'failed in 2 tenants' });
    await failed.getByRole('link').click();
    await expect.poll(() => new URL(page.url()).hash).toBe(`#/incidents/${job}`);
  });

  it("lists admins' changes, and filters them by tenant, actor, action, and outcome", async () => {
    const tenant = await fixture().poisonedTenant();
    const page = await fixture().openSignedIn(`#/tenants/${tenant}/settings`);
    await page.getByRole('textbox', { name: /^Files/ }).fill('50');
    await page.getByRole('button', { name: 'Save settings' }).click();
    await page.getByText('Saved the settings.').waitFor();
    await page.getByRole('link', { name: 'Audit', exact: true }).click();
    await addFilter(page, 'Tenant');
    await page.getByPlaceholder('Tenant').fill(tenant);
    const events = page.locator('.audit-events > li');
    await expect.poll(() => events.count()).toBe(1);
    await events.getByRole('button', { name: 'Details: Change a tenant' }).click();
    expect(await events.textContent()).toMatch(
      /^Change a tenant.*by admin key console.*fromconsole, 127\.0\.0\.1max_filesnone → 50$/,
    );
    // The fields match parts: of the tenant, of the actor's label, and of the action's description.
    await page.getByPlaceholder('Tenant').fill(tenant.slice(2).toUpperCase());
    await addFilter(page, 'Actor');
    await page.getByPlaceholder('Actor').fill('CONS');
    await page.getByPlaceholder('Action').fill('change a ten');
    await expect.poll(() => events.count()).toBe(1);
    const saved = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download CSV' }).click();
    expect((await saved).suggestedFilename()).toBe('audit.csv');
    const rows = (await readFile(await (await saved).path(), 'utf8')).split('\r\n');
    expect(rows[1]).toMatch(/,"admin key console","key_\w+","Change a tenant","updateTenant","false","ok",/);
    expect(rows.slice(2)).toStrictEqual(['']);
    await addFilter(page, 'Outcome');
    await page.getByLabel('Outcome').selectOption('Failed');
    await page.getByText('No matching changes').waitFor();
    expect(await page.title()).toBe('Audit · Memory console');

    // Links lead from a tenant to its changes, and back.
    await page.goto(`${fixture().url}/#/tenants/${tenant}`);
    await page.getByRole('link', { name: 'Audit trail', exact: true }).click();
    await expect.poll(() => events.count()).toBe(1);
    await events.getByRole('link', { name: tenant, exact: true }).click();
    await page.getByRole('treeitem', { name: 'style.md' }).waitFor();
  });

  it('tells missing records apart from zeros, and an empty search result from an empty list', async () => {
    const page = await fixture().openSignedIn('#/overview');
    await page.getByRole('figure', { name: 'Size of all files no records yet', exact: true }).waitFor();
    expect(await page.getByRole('img', { name: /^Size of all files/ }).count()).toBe(0);
    const onlyTenants = [await fixture().poisonedTenant()];
    const other = await fixture().openSignedIn('#/audit', { onlyTenants });
    await other.getByText('No changes yet').waitFor();
    await other.getByPlaceholder('Action').fill('restore');
    await other.getByText('No matching changes').waitFor();
  });
});

describeConsole('several selected tenants', (fixture) => {
  it('suspends, changes, and deletes several selected tenants after a confirmation', async () => {
    const { database } = fixture().service;
    const tenants = new Tenants(database);
    const prefix = freshTenant('bulk');
    const ids = ['a', 'b', 'c'].map((letter) => `${prefix}-${letter}`);
    for (const id of ids) await tenants.create(id);
    const rows = () => Promise.all(ids.map((id) => tenants.find(id)));
    const page = await fixture().openSignedIn(`#/?search=${prefix}-`);
    const dialog = page.getByRole('dialog');
    const select = async (...chosen: string[]) => {
      for (const id of chosen) await page.getByLabel(`Select ${id}`, { exact: true }).check();
    };

    await select(`${prefix}-a`, `${prefix}-b`);
    await page.getByRole('button', { name: 'Suspend…' }).click();
    await dialog.getByRole('heading', { name: 'Suspend 2 tenants?' }).waitFor();
    expect((await rows()).map((row) => row?.suspendedAt === null)).toStrictEqual([true, true, true]);
    await dialog.getByRole('button', { name: 'Suspend' }).click();
    await page.getByText('Suspended 2 tenants.').waitFor();
    expect((await rows()).map((row) => row?.suspendedAt === null)).toStrictEqual([false, false, true]);

    await select(`${prefix}-b`);
    await page.getByRole('button', { name: 'Select all shown' }).click();
    await page.getByText('3 selected').waitFor();
    await page.getByRole('button', { name: 'Change settings…' }).click();
    await dialog.getByRole('heading', { name: 'Change the settings of 3 tenants?' }).waitFor();
    await dialog.getByRole('textbox', { name: /^Files/ }).fill('7');
    await dialog.getByRole('textbox', { name: /^Size of all files/ }).fill('2 MB');
    await dialog.getByRole('button', { name: 'Change settings' }).click();
    await page.getByText('Changed the settings of 3 tenants.').waitFor();
    const limits = async () => (await rows()).map((row) => [row?.maxFiles, row?.maxBytes, row?.historyDays]);
    expect(await limits()).toStrictEqual([
      [7, 2_097_152, null],
      [7, 2_097_152, null],
      [7, 2_097_152, null],
    ]);
    await select(`${prefix}-a`, `${prefix}-b`);
    await page.getByRole('button', { name: 'Change settings…' }).click();
    await dialog.getByRole('textbox', { name: /^Files/ }).fill('default');
    await dialog
      .getByRole('textbox', { name: /history/i })
      .first()
      .fill('4w');
    await dialog.getByRole('button', { name: 'Change settings' }).click();
    await page.getByText('Changed the settings of 2 tenants.').waitFor();
    expect(await limits()).toStrictEqual([
      [null, 2_097_152, 28],
      [null, 2_097_152, 28],
      [7, 2_097_152, null],
    ]);

    // A list that loads after the deletion would drop the tenant from the selection.
    await expect.poll(() => page.getByText('of 7', { exact: true }).count()).toBe(1);
    await select(`${prefix}-a`, `${prefix}-c`);
    // Another admin deletes the tenant first.
    await tenants.delete(`${prefix}-c`);
    await page.getByRole('button', { name: 'Delete…' }).click();
    const confirm = dialog.getByRole('button', { name: 'Delete' });
    expect(await confirm.isDisabled()).toBe(true);
    await dialog.getByLabel('Type the number of tenants to confirm').fill('2');
    await confirm.click();
    await dialog.getByRole('heading', { name: 'Deleted 1 tenant.' }).waitFor();
    await dialog.getByText('1 tenant failed.').waitFor();
    await dialog.getByText(`${prefix}-c: Tenant ${prefix}-c does not exist.`).waitFor();
    await dialog.getByRole('button', { name: 'Try 1 tenant again' }).click();
    await dialog.getByRole('heading', { name: 'Deleted 1 tenant.' }).waitFor();
    await dialog.getByRole('button', { name: 'Done', exact: true }).click();
    await page.getByLabel(`Select ${prefix}-a`).waitFor({ state: 'detached' });
    expect((await rows()).map((row) => row?.id)).toStrictEqual([undefined, `${prefix}-b`, undefined]);
  });

  it('offers no tenant selection to a read-only key', async () => {
    const tenant = await fixture().poisonedTenant();
    const page = await fixture().openSignedIn(`#/?search=${tenant}`, { access: 'read_only' });
    await page.getByRole('link', { name: tenant, exact: true }).waitFor();
    expect(await page.getByRole('checkbox').count()).toBe(0);
  });
});
