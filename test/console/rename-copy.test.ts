/** @module-tag long */
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import type { KeyPurpose } from '../../src/core/tenants/keys.ts';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { describeConsole } from '../support/console-suite.ts';
import { freshTenant } from '../support/test-service.ts';
import { proposeDraft } from './draft-scenario.ts';

const dialog = (page: Page) => page.getByRole('dialog');
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

describeConsole('renaming and copying a tenant in the console', (fixture) => {
  const tenants = () => new Tenants(fixture().service.database);
  const countVersions = async (tenant: string) => {
    const sql = 'SELECT count(*)::integer AS count FROM memory_versions WHERE tenant_id = $1';
    return (await fixture().service.query(sql, [tenant]))[0]?.count;
  };

  it('renames a tenant with its files, history, settings, and keys, and opens the new address', async () => {
    const tenant = await fixture().poisonedTenant();
    const before = await countVersions(tenant);
    const to = freshTenant('renamed');
    const page = await fixture().openSignedIn(`#/tenants/${tenant}/settings`);
    await button(page, 'Rename…').click();
    const field = dialog(page).getByLabel('New ID');
    expect(await field.inputValue()).toBe(tenant);
    expect(await dialog(page).getByRole('button', { name: 'Rename' }).isDisabled()).toBe(true);
    await field.fill(to);
    await dialog(page).getByRole('button', { name: 'Rename' }).click();
    await page.getByText(`Renamed ${tenant} to ${to}.`).waitFor();
    await page.getByRole('heading', { level: 1, name: to }).waitFor();
    expect(new URL(page.url()).hash).toBe(`#/tenants/${to}/settings`);
    expect(await page.title()).toContain(to);
    await page.getByRole('rowheader', { name: 'web-crawler' }).waitFor();
    expect(await tenants().find(tenant)).toBeUndefined();
    expect([before, await countVersions(to)]).toStrictEqual([15, 15]);
    await page.getByRole('link', { name: 'Memory', exact: true }).click();
    await page.getByRole('treeitem', { name: 'refunds.md' }).waitFor();
  });

  it("copies a tenant's files and settings, but neither keys nor history, and opens the copy", async () => {
    const tenant = await fixture().poisonedTenant();
    await tenants().set(tenant, { maxFiles: 77 });
    const to = freshTenant('copied');
    const page = await fixture().openSignedIn(`#/tenants/${tenant}/settings`);
    await button(page, 'Copy…').click();
    await dialog(page).getByLabel('New ID').fill(to);
    await dialog(page).getByRole('button', { name: 'Copy', exact: true }).click();
    await page.getByText(`Copied ${tenant} to ${to}.`).waitFor();
    await page.getByText('No keys yet').waitFor();
    expect(new URL(page.url()).hash).toBe(`#/tenants/${to}/settings`);
    expect(await tenants().find(to)).toMatchObject({ files: 9, maxFiles: 77 });
    expect(await tenants().find(tenant)).toMatchObject({ files: 9 });
    expect(await countVersions(to)).toBe(9);
    // Back leads to the copied tenant.
    await page.goBack();
    await page.getByRole('heading', { level: 1, name: tenant }).waitFor();
  });

  it.each(['Rename', 'Copy'])('explains why a rename or copy fails: %s', async (verb) => {
    const tenant = await fixture().poisonedTenant();
    const other = freshTenant('other');
    await tenants().create(other);
    const page = await fixture().openSignedIn(`#/tenants/${tenant}/settings`);
    await button(page, `${verb}…`).click();
    const enterNewId = async (id: string) => {
      await dialog(page).getByLabel('New ID').fill(id);
      await dialog(page).getByRole('button', { name: verb, exact: true }).click();
      await expect.poll(() => dialog(page).getByRole('progressbar').count()).toBe(0);
      return dialog(page).getByRole('alert').textContent();
    };
    expect(await enterNewId(other)).toBe(`Tenant ${other} already exists.`);
    for (const id of ['a b', '..']) {
      expect(await enterNewId(id)).toBe(
        'The field to must be 1 to 128 of the characters A-Z a-z 0-9 . _ : @ -, without "-" or "draft_" at the start, and not "." or ".."',
      );
    }
    expect(new URL(page.url()).hash).toBe(`#/tenants/${tenant}/settings`);
    expect(await tenants().find(tenant)).toMatchObject({ files: 9 });
    // Escape keeps the typed text.
    await page.keyboard.press('Escape');
    await button(page, 'Discard').click();
    await expect.poll(() => dialog(page).count()).toBe(0);
  });

  it('asks about unsaved settings before a rename or a deletion', async () => {
    const tenant = await fixture().poisonedTenant();
    const page = await fixture().openSignedIn(`#/tenants/${tenant}/settings`);
    await page.getByLabel('Days of history').fill('7');
    for (const open of ['Rename…', 'Delete tenant…']) {
      await button(page, open).click();
      await button(page, 'Keep editing').click();
      await expect.poll(() => dialog(page).count()).toBe(0);
    }
    expect(await page.getByLabel('Days of history').inputValue()).toBe('7');
    await button(page, 'Rename…').click();
    await button(page, 'Discard').click();
    const to = freshTenant('asked');
    await dialog(page).getByLabel('New ID').fill(to);
    await dialog(page).getByRole('button', { name: 'Rename' }).click();
    await page.getByRole('heading', { level: 1, name: to }).waitFor();
  });

  it('offers a rename and a copy only to keys with full access, and only a copy for a draft', async () => {
    const tenant = await fixture().poisonedTenant();
    const purposes: Partial<KeyPurpose>[] = [
      { access: 'read_only' },
      { access: 'operate' },
      { access: 'read_write', onlyTenants: [tenant] },
    ];
    for (const purpose of purposes) {
      const page = await fixture().openSignedIn(`#/tenants/${tenant}/settings`, purpose);
      await page.getByRole('heading', { name: 'Export and import' }).waitFor();
      expect(await page.getByRole('button', { name: /^(Rename|Copy)…$/ }).count()).toBe(0);
    }
    const { app, database } = fixture().service;
    const draft = await proposeDraft(app, database, tenant);
    const page = await fixture().openSignedIn(`#/tenants/${draft.id}/settings`);
    await button(page, 'Copy…').waitFor();
    expect(await button(page, 'Rename…').count()).toBe(0);
  });
});
