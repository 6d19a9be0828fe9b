/** @module-tag long */
import { expect, it } from 'vitest';
import { describeConsole } from '../support/console-suite.ts';
import { addFilter } from './add-filter.ts';

const PHONE = { width: 390, height: 844 };

describeConsole('shell of the console', (fixture) => {
  it('opens the sidebar as a drawer on a phone, and closes it after a navigation, by its button, or with Escape', async () => {
    const page = await fixture().openSignedIn('#/');
    const menu = page.getByRole('button', { name: 'Menu' });
    const main = page.getByRole('navigation', { name: 'Main' });
    expect(await menu.isVisible()).toBe(false);
    await page.setViewportSize(PHONE);
    await expect.poll(() => main.isVisible()).toBe(false);
    await menu.click();
    await main.getByRole('link', { name: 'Audit' }).click();
    await page.getByRole('heading', { name: 'Audit', level: 1 }).waitFor();
    expect(await main.isVisible()).toBe(false);
    await menu.press('Enter');
    await main.waitFor();
    await page.getByRole('button', { name: 'Close the menu' }).click();
    expect(await main.isVisible()).toBe(false);
    await menu.press('Enter');
    await main.waitFor();
    await page.keyboard.press('Escape');
    expect(await main.isVisible()).toBe(false);
    await page.setViewportSize({ width: 1280, height: 800 });
    await main.waitFor();
  });

  it('keeps the theme and the time zone after a reload', async () => {
    const page = await fixture().openSignedIn('#/');
    const scheme = () => page.evaluate<string>('getComputedStyle(document.documentElement).colorScheme');
    expect(await scheme()).toBe('light dark');
    await page.getByRole('button', { name: 'Dark' }).click();
    await page.getByRole('button', { name: 'UTC' }).click();
    await expect.poll(scheme).toBe('dark');
    await page.reload();
    await page.getByRole('button', { name: 'UTC', pressed: true }).waitFor();
    expect(await scheme()).toBe('dark');
    await page.getByRole('button', { name: 'System' }).click();
    await expect.poll(scheme).toBe('light dark');
  });

  it('keeps the titles of the columns and the actions for the selection in view while rows scroll', async () => {
    const tenant = await fixture().poisonedTenant();
    const page = await fixture().openSignedIn(`#/?search=${tenant}`);
    await page.setViewportSize({ width: 1280, height: 600 });
    await page.getByLabel(`Select ${tenant}`).check();
    await page.getByRole('region', { name: 'Selected tenants' }).waitFor();
    // Room to scroll as with many rows.
    await page.evaluate(`document.querySelector('.table-scroll tbody tr').style.height = '3000px'`);
    await page.evaluate('scrollTo(0, 1500)');
    const top = (selector: string) =>
      page.evaluate<number>(`document.querySelector('${selector}').getBoundingClientRect().top`);
    expect(await top('.page-head')).toBe(0);
    expect(await top('thead th')).toBe(56);
    expect(await top('.bulk')).toBeLessThan(600);
  });

  it("keeps the tenant's header in view while the settings scroll", async () => {
    const page = await fixture().openSignedIn(`#/tenants/${await fixture().poisonedTenant()}/settings`);
    await page.setViewportSize({ width: 1280, height: 600 });
    await page.getByRole('heading', { name: 'Mounts', exact: true }).waitFor();
    await page.evaluate('scrollTo(0, 600)');
    expect(await page.evaluate("document.querySelector('.tenant-head').getBoundingClientRect().top")).toBe(0);
  });

  it('shows a filter as a chip with its field, and removes it', async () => {
    const page = await fixture().openSignedIn('#/?search=no-tenant&state=archived');
    await page.getByText('No matching tenants').waitFor();
    expect(await page.getByLabel('State').inputValue()).toBe('archived');
    await addFilter(page, 'Metadata');
    await expect
      .poll(() => page.getByLabel('Metadata').evaluate((field) => field.matches(':focus')))
      .toBe(true);
    expect(await page.getByRole('button', { name: 'Filter', exact: true }).count()).toBe(0);
    await page.getByRole('button', { name: 'Remove the filter: State' }).click();
    await expect.poll(() => new URL(page.url()).hash).toBe('#/?search=no-tenant');
    expect(await page.getByLabel('State').count()).toBe(0);
  });
});
