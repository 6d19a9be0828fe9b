/** @module-tag long */
import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { Tenants } from '../../src/tenants/tenants.ts';
import { describeConsole } from '../support/console-suite.ts';
import { proposeDraft } from './draft-scenario.ts';

const WIDTHS = [
  360, 390, 480, 600, 641, 680, 720, 768, 820, 861, 900, 960, 1000, 1020, 1050, 1080, 1140, 1280, 1600,
];
/** Widths at which axe checks each page, which takes a second. AXE=all checks it at all widths. */
const CHECKED = new Set(process.env.AXE === 'all' ? WIDTHS : [360, 641, 1000, 1600]);

/**
 * Returns the elements that extend beyond the window, and the cells whose content extends into the next cell. The
 * function is a string, because it runs in the page.
 */
const EXCESSES = `(() => {
  const width = document.documentElement.clientWidth;
  const describe = (element) => element.tagName + ' ' + element.className + ' ' + element.textContent.slice(0, 40);
  const shown = [...document.querySelectorAll('td, th, a, button, input, select, h1, h2, .card, .pane')].filter(
    (element) => element.checkVisibility() && !element.closest('.visually-hidden'),
  );
  return [
    ...(document.documentElement.scrollWidth > width ? ['the page'] : []),
    ...shown.filter((element) => element.getBoundingClientRect().right > width + 1).map(describe),
    ...shown.filter(({ tagName, scrollWidth, clientWidth }) => tagName.startsWith('T') && scrollWidth > clientWidth + 1)
      .map((cell) => 'cell ' + describe(cell)),
  ];
})()`;

async function violationsOf(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate<axe.AxeResults>(
    `axe.run({ rules: { 'target-size': { enabled: true } } })`,
  );
  return violations.flatMap(({ id, nodes }) => nodes.map(({ target }) => `${id} ${target}`));
}

type View = [name: string, place: string, isThere: (page: Page) => Promise<unknown>];
const VIEWS: View[] = [
  ['overview', 'overview', (page) => page.getByRole('img', { name: /^Calls by day/ }).waitFor()],
  ['tenants', '', (page) => page.getByRole('meter').first().waitFor()],
  ['drafts', 'drafts', (page) => page.getByRole('link', { name: 'Tidy up' }).first().waitFor()],
  ['keys', 'keys', (page) => page.getByRole('rowheader', { name: 'support-agent' }).first().waitFor()],
  ['incident', 'incidents', (page) => page.getByRole('heading', { name: 'Jobs', exact: true }).waitFor()],
  ['audit', 'audit', (page) => page.getByText('Resume a tenant').first().waitFor()],
  [
    'memory',
    'tenants/TENANT?path=/memories/refunds.md',
    async (page) => {
      await page.getByText('No approval is needed').waitFor();
      await page.getByRole('list', { name: 'Changes by actor' }).waitFor();
    },
  ],
  [
    'history',
    'tenants/TENANT/history',
    (page) => page.getByRole('button', { name: /modified refunds/ }).waitFor(),
  ],
  ['comparison', 'tenants/TENANT/compare', (page) => page.getByText('9 files', { exact: true }).waitFor()],
  [
    'drafts of a tenant',
    'tenants/TENANT/drafts',
    (page) => page.getByRole('link', { name: 'Tidy up' }).waitFor(),
  ],
  ['review', 'tenants/TENANT/drafts/DRAFT', (page) => page.getByText('1 file to resolve').waitFor()],
  [
    'palette',
    'tenants/TENANT/history',
    async (page) => {
      await page.getByRole('button', { name: /modified refunds/ }).waitFor();
      // The palette stays open while the width changes.
      if ((await page.getByRole('dialog').count()) > 0) return;
      await page.keyboard.press('Control+k');
      await page.getByRole('option', { name: 'Audit Page' }).waitFor();
    },
  ],
  [
    'several tenants',
    '?search=TENANT',
    async (page) => {
      await page
        .getByLabel(/^Select tenant-/)
        .first()
        .check();
      await page.getByText(/^\d+ selected$/).waitFor();
    },
  ],
  [
    'settings',
    'tenants/TENANT/settings',
    async (page) => {
      await page.getByRole('rowheader', { name: 'support-agent' }).first().waitFor();
      await page.getByRole('img', { name: /^Calls by day/ }).waitFor();
    },
  ],
];

describeConsole('pages of the console from 360 to 1,600 pixels', (fixture) => {
  let prepared: Promise<{ tenant: string; draft: string }> | undefined;
  async function prepare() {
    const { service, poisonedTenant, createKey } = fixture();
    const tenant = await poisonedTenant();
    const draft = await proposeDraft(service.app, service.database, tenant);
    await service.app.usageCounts.flush();
    await new Tenants(service.database).suspend(tenant, false);
    const soon = new Date(Date.now() + 300 * 86_400_000).toISOString();
    const isAdmin = false;
    await createKey({ tenant, isAdmin, access: 'propose', label: 'nightly consolidation', expiresAt: soon });
    await createKey({ isAdmin, managesStores: true, label: 'stores', source: 'import', expiresAt: soon });
    const { key } = await createKey({ onlyTenants: [tenant], access: 'operate' });
    await fetch(`${fixture().url}/v1/tenants/${tenant}/resume`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
    });
    return { tenant, draft: draft.id };
  }

  // The badge of `operate` makes the top bar widest, and the buttons of `read_write` make the tables widest. One is
  // checked in light colors, the other in dark colors.
  const cases = (['operate', 'read_write'] as const).flatMap((access) =>
    VIEWS.map((view) => [access, ...view] as const),
  );
  it.each(cases)(
    'fits each page without overlaps, and passes axe with %s: %s',
    async (access, _name, place, isThere) => {
      prepared ??= prepare();
      const { tenant, draft } = await prepared;
      const page = await fixture().openSignedIn(
        `#/${place.replace('TENANT', tenant).replace('DRAFT', draft)}`,
        {
          access,
          label: 'an operator with a long name',
        },
      );
      const colorScheme = access === 'operate' ? 'light' : 'dark';
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      const found: [number, string[]][] = [];
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: 800 });
        if (width === WIDTHS[0] && place.includes('refunds')) await page.reload();
        await isThere(page);
        const excesses = await page.evaluate<string[]>(EXCESSES);
        const violations = CHECKED.has(width) ? await violationsOf(page) : [];
        if (excesses.length + violations.length > 0) found.push([width, [...excesses, ...violations]]);
      }
      expect(found).toStrictEqual([]);
    },
  );
});
