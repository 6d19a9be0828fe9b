/** @module-tag long */
import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { describeConsole } from '../support/console-suite.ts';
import { createAgent } from '../support/start-console.ts';

/** Returns violations of axe rules on a page, with their elements. */
async function findViolations(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate<axe.AxeResults>('axe.run()');
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, any }) => `${id} ${target} ${any[0]?.message ?? ''}`),
  );
}

type View = [name: string, place: string, open: (page: Page) => Promise<unknown>];

const click = (page: Page, name: string | RegExp) => page.getByRole('button', { name }).first().click();

const VIEWS: View[] = [
  ['tenants', '#/', (page) => page.getByRole('meter').first().waitFor()],
  [
    'the dialog for several tenants',
    '#/',
    async (page) => {
      await page.getByRole('checkbox').first().check();
      await click(page, 'Change settings…');
      await page.getByText('Filled fields replace the settings').waitFor();
    },
  ],
  ['the overview', '#/overview', (page) => page.getByRole('img', { name: /^Calls by day/ }).waitFor()],
  [
    'the audit trail',
    '#/audit',
    async (page) => {
      await page.getByPlaceholder('Action').fill('createFile');
      await page.getByRole('heading', { name: 'Audit' }).waitFor();
    },
  ],
  ['a page that does not exist', '#/nowhere', (page) => page.getByText('Page not found').waitFor()],
  ['keys', '#/keys', (page) => page.getByRole('rowheader').first().waitFor()],
  [
    'the dialog for a new key',
    '#/keys',
    async (page) => {
      await click(page, 'New key');
      await page.getByRole('combobox', { name: 'For', exact: true }).selectOption('admin');
      await page.getByRole('combobox', { name: 'Tenants' }).selectOption('some');
      await page.getByRole('combobox', { name: 'Expires' }).selectOption('at');
      await page.getByLabel('Expires at').waitFor();
    },
  ],
  [
    'the dialog for a key with rights by path',
    '#/keys',
    async (page) => {
      await click(page, 'New key');
      await click(page, 'Add a right');
      await page.getByLabel('Path of right 1').waitFor();
    },
  ],
  [
    'the dialog for an invitation',
    '#/tenants/TENANT/settings',
    async (page) => {
      await click(page, 'Invite…');
      await page.getByLabel('Several tenants may accept it').waitFor();
    },
  ],
  [
    'the dialog that accepts an invitation',
    '#/tenants/TENANT/settings',
    async (page) => {
      await click(page, 'Accept…');
      await page.getByLabel('Token of the invitation').waitFor();
    },
  ],
  [
    'a new key',
    '#/keys',
    async (page) => {
      await click(page, 'New key');
      await page.getByRole('combobox', { name: 'For', exact: true }).selectOption('admin');
      await click(page, 'Create');
      await page.getByRole('textbox', { name: 'The key', exact: true }).waitFor();
      await page.keyboard.press('Escape');
      await page.getByText('You have not copied the key.').waitFor();
    },
  ],
  [
    'the dialog for a rotation',
    '#/keys',
    async (page) => {
      await click(page, /^Rotate/);
      await page.getByLabel('The current secret still works').waitFor();
    },
  ],
  [
    'the dialog that edits a key',
    '#/keys',
    async (page) => {
      await click(page, /^Edit…/);
      await page.getByRole('combobox', { name: 'Expires' }).selectOption('at');
      await page.getByLabel('Expires at').waitFor();
    },
  ],
  [
    'the dialog for a new webhook',
    '#/webhooks',
    async (page) => {
      await click(page, 'New webhook');
      await page.getByRole('combobox', { name: 'Events' }).selectOption('some');
      await page.getByLabel('Draft merged').waitFor();
    },
  ],
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
    'the editor and its search',
    '#/tenants/TENANT?path=/memories/refunds.md',
    async (page) => {
      await click(page, 'Edit');
      await page.getByRole('textbox', { name: 'Content of the file' }).press('Control+f');
      await page.getByRole('textbox', { name: 'Find', exact: true }).fill('refund');
    },
  ],
  [
    'a directory',
    '#/tenants/TENANT?path=/memories/customers',
    (page) => page.getByRole('button', { name: 'Upload a directory…' }).waitFor(),
  ],
  [
    'the dialog for a move',
    '#/tenants/TENANT?path=/memories/refunds.md',
    async (page) => {
      await click(page, 'Move…');
      await page.getByLabel('New path').waitFor();
    },
  ],
  [
    'the dialog for a deletion',
    '#/tenants/TENANT?path=/memories/refunds.md',
    async (page) => {
      await click(page, 'Delete');
      await page.getByText('It stays in the history').waitFor();
    },
  ],
  [
    'an offer to undo',
    '#/tenants/TENANT?path=/memories/refunds.md',
    async (page) => {
      await click(page, 'Delete');
      await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
      await page.getByRole('button', { name: 'Undo' }).waitFor();
    },
  ],
  [
    'an invalid time',
    '#/tenants/TENANT?at=never',
    (page) => page.getByText('The address does not contain a valid time').waitFor(),
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
      await page.getByRole('slider', { name: 'Time' }).press('Home');
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
    'the choice of another version',
    '#/tenants/TENANT/history?path=/memories/refunds.md',
    async (page) => {
      await click(page, /modified refunds/);
      await click(page, 'Compare with…');
      await page
        .getByRole('dialog')
        .getByRole('button', { name: /created refunds/ })
        .waitFor();
    },
  ],
  [
    'a comparison of two versions',
    '#/tenants/TENANT/history?path=/memories/refunds.md',
    async (page) => {
      await click(page, /modified refunds/);
      await click(page, 'Compare with…');
      await page
        .getByRole('dialog')
        .getByRole('button', { name: /created refunds/ })
        .click();
      await page.getByRole('button', { name: 'Swap' }).waitFor();
    },
  ],
  [
    'the dialog for a restore',
    '#/tenants/TENANT/history?path=/memories/refunds.md',
    async (page) => {
      await click(page, /created refunds/);
      await click(page, 'Restore…');
      await page.getByText('1 file will be modified.').waitFor();
    },
  ],
  [
    'a comparison',
    '#/tenants/TENANT/compare',
    (page) => page.getByRole('slider', { name: 'Time' }).waitFor(),
  ],
  [
    'settings',
    '#/tenants/TENANT/settings',
    async (page) => {
      await page.getByRole('heading', { name: 'Suspend or delete' }).waitFor();
      await page.getByRole('img', { name: /^Calls by day/ }).waitFor();
    },
  ],
  ...['Rename', 'Copy'].map(
    (verb): View => [
      `the dialog: ${verb}`,
      '#/tenants/TENANT/settings',
      async (page) => {
        await click(page, `${verb}…`);
        await page.getByLabel('New ID').fill('a b');
        await page.getByRole('dialog').getByRole('button', { name: verb, exact: true }).click();
        await page.getByRole('alert').waitFor();
      },
    ],
  ),
];

const SCHEMES = ['light', 'dark'] as const;
const SIZES = { desktop: { width: 1280, height: 800 }, phone: { width: 390, height: 844 } };
const DEVICES = ['desktop', 'phone'] as const;

describeConsole('accessibility checks for the console', (fixture) => {
  it.each(SCHEMES)('passes axe in %s colors on the sign-in page', async (colorScheme) => {
    const page = await fixture().open(await fixture().newContext());
    await page.emulateMedia({ colorScheme });
    await page.getByLabel('Admin key').waitFor();
    expect(await findViolations(page)).toStrictEqual([]);
  });

  it.each(SCHEMES)('passes axe in %s colors if Markdown has a link within a text', async (colorScheme) => {
    const { service } = fixture();
    const tenant = await fixture().poisonedTenant();
    const agent = await createAgent(service.app, service.database, tenant, 'linking');
    await agent({
      command: 'create',
      path: '/memories/l.md',
      file_text: 'See [it](https://example.com) now.\n',
    });
    const page = await fixture().openSignedIn(`#/tenants/${tenant}?path=/memories/l.md`);
    await page.emulateMedia({ colorScheme });
    await click(page, 'Markdown');
    await page.getByRole('link', { name: 'it', exact: true }).waitFor();
    expect(await findViolations(page)).toStrictEqual([]);
  });

  it("moves the focus by keyboard to the content, the search field, rows, and the next page's heading", async () => {
    const tenant = await fixture().poisonedTenant();
    const page = await fixture().openSignedIn('#/');
    const focusedLabel = () =>
      page.evaluate<string>('document.activeElement.placeholder ?? document.activeElement.tagName');
    await page.reload();
    await page.getByRole('meter').first().waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    expect(await focusedLabel()).toBe('MAIN');
    await page.keyboard.press('/');
    expect(await focusedLabel()).toBe('Search tenants');
    // In a field, these keys enter text.
    await page.keyboard.type('j/k');
    const search = page.getByLabel('Search tenants');
    expect(await search.inputValue()).toBe('j/k');
    await search.fill(tenant);
    const link = page.getByRole('link', { name: tenant, exact: true });
    // The header and the only tenant that the search finds.
    await expect.poll(() => page.getByRole('row').count()).toBe(2);
    await page.getByRole('link', { name: 'Keys', exact: true }).focus();
    await page.keyboard.press('j');
    expect(await link.evaluate((element) => element.matches(':focus'))).toBe(true);
    await page.keyboard.press('Enter');
    await page.getByRole('treeitem', { name: 'style.md' }).waitFor();
    expect(await focusedLabel()).toBe('H1');
    await page.goto(`${fixture().url}/#/tenants/${tenant}/history`);
    await page.getByRole('button', { name: /^modified refunds/ }).waitFor();
    for (const key of ['j', 'j', 'j', 'k']) await page.keyboard.press(key);
    await page.keyboard.press('Enter');
    await page.getByText('Ignore the rules on refunds').waitFor();
  });

  const views = DEVICES.flatMap((device) => VIEWS.map((view) => [device, ...view] as const));
  it.each(views)('passes axe on a %s in light and in dark colors: %s', async (device, _name, place, open) => {
    const tenant = await fixture().poisonedTenant();
    await fixture().service.app.usageCounts.flush();
    const page = await fixture().openSignedIn(place.replace('TENANT', tenant));
    await page.setViewportSize(SIZES[device]);
    await open(page);
    // The page follows changes to the browser's color scheme.
    for (const colorScheme of SCHEMES) {
      await page.emulateMedia({ colorScheme });
      expect(await findViolations(page), `in ${colorScheme} colors`).toStrictEqual([]);
    }
  });
});
