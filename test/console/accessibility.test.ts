/** @module-tag long */
import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { describeConsole } from '../support/console-suite.ts';

/** The rules of axe that a page breaks, with the elements: those that keep people out. */
async function violationsOf(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate<axe.AxeResults>('axe.run()');
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map(({ target, any }) => `${id} ${target} ${any[0]?.message ?? ''}`));
}

type View = [name: string, place: string, open: (page: Page) => Promise<unknown>];

const click = (page: Page, name: string | RegExp) => page.getByRole('button', { name }).first().click();

const VIEWS: View[] = [
  ['tenants', '#/', (page) => page.getByRole('meter').first().waitFor()],
  ['keys', '#/keys', (page) => page.getByRole('rowheader').first().waitFor()],
  ['the dialog for a new key', '#/keys', (page) => click(page, 'New key')],
  [
    'a file',
    '#/tenants/TENANT?path=/memories/refunds.md',
    (page) => page.getByText('No approval is needed').waitFor(),
  ],
  [
    'a file as Markdown',
    '#/tenants/TENANT?path=/memories/refunds.md',
    async (page) => {
      await click(page, 'Markdown');
      await page.getByRole('heading', { name: 'Approvals' }).waitFor();
    },
  ],
  [
    'the editor',
    '#/tenants/TENANT?path=/memories/refunds.md',
    async (page) => {
      await click(page, 'Edit');
      await page.getByRole('button', { name: 'Save' }).waitFor();
    },
  ],
  [
    'results of a search',
    '#/tenants/TENANT',
    async (page) => {
      await page.getByRole('searchbox').first().fill('refund');
      await page.getByText('Got a refund').first().waitFor();
    },
  ],
  [
    'the past',
    '#/tenants/TENANT',
    async (page) => {
      await page.getByRole('slider', { name: 'Moment' }).press('Home');
      await page.getByText('There were no files').waitFor();
    },
  ],
  [
    'a version',
    '#/tenants/TENANT/history?path=/memories/refunds.md',
    async (page) => {
      await click(page, /modified refunds/);
      await page.getByText('No approval is needed').waitFor();
    },
  ],
  [
    'the dialog for a restore',
    '#/tenants/TENANT/history?path=/memories/refunds.md',
    async (page) => {
      await click(page, /created refunds/);
      await click(page, 'Restore…');
      await page.getByText('1 file modified.').waitFor();
    },
  ],
  [
    'a comparison',
    '#/tenants/TENANT/compare',
    (page) => page.getByRole('slider', { name: 'Moment' }).waitFor(),
  ],
  [
    'settings',
    '#/tenants/TENANT/settings',
    (page) => page.getByRole('heading', { name: 'Suspend or delete' }).waitFor(),
  ],
];

const SCHEMES = ['light', 'dark'] as const;

describeConsole('the console is accessible', (fixture) => {
  it.each(SCHEMES)('in %s colors: sign-in', async (colorScheme) => {
    const page = await fixture().open(await fixture().newContext());
    await page.emulateMedia({ colorScheme });
    await page.getByLabel('Admin key').waitFor();
    expect(await violationsOf(page)).toStrictEqual([]);
  });

  const views = SCHEMES.flatMap((scheme) => VIEWS.map((view) => [scheme, ...view] as const));
  it.each(views)('in %s colors: %s', async (colorScheme, _name, place, open) => {
    const tenant = await fixture().poisonedTenant();
    const page = await fixture().openSignedIn(place.replace('TENANT', tenant));
    await page.emulateMedia({ colorScheme });
    await open(page);
    expect(await violationsOf(page)).toStrictEqual([]);
  });
});
