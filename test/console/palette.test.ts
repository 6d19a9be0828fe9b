/** @module-tag long */
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { describeConsole } from '../support/console-suite.ts';

describeConsole("the console's palette", (fixture) => {
  const field = (page: Page) => page.getByRole('combobox', { name: 'Page, tenant, file, or action' });
  const foundOption = (page: Page, name: string) =>
    page.getByRole('listbox', { name: 'Found' }).getByRole('option', { name, exact: true });

  async function open(page: Page, text: string): Promise<void> {
    await page.keyboard.press('Control+k');
    await field(page).fill(text);
  }

  it("opens tenants, files, pages, and actions, and then moves the focus to the page's heading", async () => {
    const tenant = await fixture().poisonedTenant();
    const page = await fixture().openSignedIn('#/keys');
    const focusedLabel = () =>
      page.evaluate<string>('document.activeElement.tagName + " " + document.activeElement.textContent');
    await page.getByRole('heading', { name: 'Keys' }).waitFor();
    // The palette also opens from a field.
    await page.getByPlaceholder('Label or ID').focus();
    await open(page, tenant);
    await foundOption(page, `${tenant} Tenant`).waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('treeitem', { name: 'style.md' }).waitFor();
    expect(await focusedLabel()).toContain(`H1 Tenants /${tenant}`);

    await open(page, 'TAXES');
    await foundOption(page, '/memories/billing/taxes.md File').waitFor();
    await page.keyboard.press('Enter');
    await page.getByText('- FR 20 %').waitFor();

    await open(page, 'history of');
    await foundOption(page, `History of ${tenant} Page`).click();
    await page.getByRole('button', { name: /^modified refunds/ }).waitFor();
    expect(await page.locator('[aria-live="polite"]').last().textContent()).toBe(
      `History · ${tenant} · Memory console`,
    );

    await open(page, 'new');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog', { name: 'New tenant' });
    await dialog.waitFor();
    // An open dialog keeps the keys.
    await page.keyboard.press('Control+k');
    expect(await field(page).count()).toBe(0);
    expect(new URL(page.url()).hash).toBe('#/');
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'hidden' });

    await page.getByRole('button', { name: 'Go to…' }).click();
    await field(page).fill('no such page anywhere');
    await page.getByText('No matches').waitFor();
    await page.keyboard.press('Escape');
    await field(page).waitFor({ state: 'hidden' });
  });

  it("finds all tenants' files by their contents", async () => {
    const [own, other] = [await fixture().poisonedTenant(), await fixture().poisonedTenant()];
    const page = await fixture().openSignedIn('#/keys', { access: 'read_only', onlyTenants: [own, other] });
    await page.getByRole('heading', { name: 'Keys' }).waitFor();
    await open(page, 'SENT ON the');
    const line = 'Sent on the second of the month.';
    await foundOption(page, `${own} /memories/billing/invoices.md ${line} Content`).waitFor();
    await foundOption(page, `${other} /memories/billing/invoices.md ${line} Content`).click();
    await page.getByRole('region', { name: 'File', exact: true }).getByText(line).waitFor();
    expect(page.url()).toContain(`#/tenants/${other}?path=`);
  });

  it('offers only pages and actions that the key may use', async () => {
    const tenant = await fixture().poisonedTenant();
    const page = await fixture().openSignedIn('#/keys', { access: 'read_only', onlyTenants: [tenant] });
    await page.getByRole('heading', { name: 'Keys' }).waitFor();
    await page.keyboard.press('Control+k');
    const options = page.getByRole('listbox', { name: 'Found' }).getByRole('option');
    await options.first().waitFor();
    expect(await options.allTextContents()).toStrictEqual([
      'TenantsPage',
      'DraftsPage',
      'IncidentPage',
      'KeysPage',
      'WebhooksPage',
      'AuditPage',
      'Suspended tenantsPage',
      'Tenants near a limitPage',
    ]);
  });
});
