/** @module-tag long */
import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { describeConsole } from '../support/console-suite.ts';
import { type Prepared, prepareViews, VIEWS, viewHash } from './all-views.ts';
import { EXCESSES } from './excesses.ts';

const WIDTHS = [
  360, 390, 480, 600, 641, 680, 720, 768, 820, 861, 900, 960, 1000, 1020, 1050, 1080, 1140, 1280, 1600,
];
/** Widths at which axe checks each page, which takes a second. AXE=all checks it at all widths. */
const CHECKED = new Set(process.env.AXE === 'all' ? WIDTHS : [360, 641, 1000, 1600]);

async function findViolations(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate<axe.AxeResults>(
    `axe.run({ rules: { 'target-size': { enabled: true } } })`,
  );
  return violations.flatMap(({ id, nodes }) => nodes.map(({ target }) => `${id} ${target}`));
}

describeConsole('console pages from 360 to 1,600 pixels', (fixture) => {
  let prepared: Promise<Prepared> | undefined;

  // The `operate` badge makes the top bar widest, and the `read_write` buttons make the tables widest. One is checked
  // in light colors, the other in dark colors.
  const cases = (['operate', 'read_write'] as const).flatMap((access) =>
    VIEWS.map((view) => [access, ...view] as const),
  );
  it.each(cases)(
    'fits each page without overlaps and passes axe for a key with access %s: %s',
    async (access, _name, place, isThere) => {
      prepared ??= prepareViews(fixture());
      const page = await fixture().openSignedIn(viewHash(place, await prepared), {
        access,
        label: 'an operator with a long name',
      });
      const colorScheme = access === 'operate' ? 'light' : 'dark';
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      const found: [number, string[]][] = [];
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: 800 });
        if (width === WIDTHS[0] && place.includes('refunds')) await page.reload();
        await isThere(page);
        const excesses = await page.evaluate<string[]>(EXCESSES);
        const violations = CHECKED.has(width) ? await findViolations(page) : [];
        if (excesses.length + violations.length > 0) found.push([width, [...excesses, ...violations]]);
      }
      // Some systems have a wide font. This one is the widest that each system has.
      await page.evaluate(`document.documentElement.style.setProperty('--font', 'monospace')`);
      for (const width of [360, 1140, 1280]) {
        await page.setViewportSize({ width, height: 800 });
        await isThere(page);
        const excesses = await page.evaluate<string[]>(EXCESSES);
        if (excesses.length > 0) found.push([width, excesses]);
      }
      expect(found).toStrictEqual([]);
    },
  );
});
