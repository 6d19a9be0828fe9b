/** @module-tag long */
import { expect, it } from 'vitest';
import { describeConsole } from '../support/console-suite.ts';
import { type Prepared, prepareViews, VIEWS, type View, viewHash } from './all-views.ts';

/**
 * Windows of 1,280 × 800 at 200 % and 400 %, phones upright with a keyboard and lying, a small laptop, and heights
 * between them.
 */
const SIZES = [
  [320, 256],
  [390, 400],
  [568, 320],
  [640, 400],
  [800, 360],
  [1024, 480],
  [1366, 560],
  [1366, 625],
  [1366, 700],
] as const;

/**
 * Returns the elements that a user cannot scroll to, and the scrolling parts that show less than three lines. The
 * function is a string, because it runs in the page.
 */
const HIDDEN = `(() => {
  const MIN = 63;
  const describe = (element) =>
    element.tagName + ' ' + element.className + ' ' + (element.ariaLabel ?? element.textContent.slice(0, 40));
  const scrolls = (element) => /auto|scroll/.test(getComputedStyle(element).overflowY);
  const clips = (element) => getComputedStyle(element).overflowY !== 'visible';
  const root = document.querySelector('dialog[open]') ?? document.body;
  const shown = [...root.querySelectorAll('*')].filter(
    (element) => element.checkVisibility() && !element.closest('.visually-hidden, .skip-link, svg, .toasts'),
  );
  // Returns the height of an element's part that is visible, after its scrolling ancestors have shown it.
  const visibleHeight = (element) => {
    element.scrollIntoView({ block: 'center', inline: 'nearest', behavior: 'instant' });
    let { top, bottom } = element.getBoundingClientRect();
    for (let each = element.parentElement; each !== null && each !== document.body; each = each.parentElement) {
      if (!clips(each)) continue;
      // A script scrolls such an element, and a user cannot.
      if (!scrolls(each)) each.scrollTop = 0;
      const box = each.getBoundingClientRect();
      [top, bottom] = [Math.max(top, box.top), Math.min(bottom, box.bottom)];
      // The top layer is outside of the elements that contain the dialog.
      if (each === root) break;
    }
    return Math.min(bottom, innerHeight) - Math.max(top, 0);
  };
  const controls = shown.filter((element) => element.matches('button, a, input, select, textarea, h1, h2, summary'));
  const parts = shown.filter(
    (element) => scrolls(element) && element.scrollHeight > element.clientHeight + 1 && element.tagName !== 'TEXTAREA',
  );
  return [
    ...controls.filter((element) => visibleHeight(element) < Math.min(element.offsetHeight, 16) - 1).map(describe),
    ...parts.filter((element) => visibleHeight(element) < MIN).map((part) => 'part ' + describe(part)),
    ...shown.filter((element) => element.matches('.pane') && visibleHeight(element) < 2 * MIN).map(describe),
  ];
})()`;

/** Opens the draft's conflict with a resolution that shows a list or an editor. */
const resolveBy = (choice: string): View[2] => {
  return async (page) => {
    const file = page.getByRole('article', { name: /lee\.md/ });
    await page.getByRole('button', { name: /conflict.*lee\.md/ }).click();
    await file.getByRole('button', { name: choice, exact: true }).click();
    await file.getByText('- Refund: 900 EUR, paid').first().waitFor();
  };
};

/** Pages with the most rows above their content, and dialogs. */
const FULL_VIEWS: View[] = [
  ['conflict by text', 'tenants/TENANT/drafts/DRAFT', resolveBy('Own text')],
  [
    'version',
    'tenants/TENANT/history',
    async (page) => {
      const version = page.getByRole('region', { name: 'Version', exact: true });
      if (!(await version.isVisible()) || (await version.getByText('No approval is needed').count()) === 0)
        await page.getByRole('button', { name: /modified refunds/ }).click();
      await version.getByText('No approval is needed').waitFor();
    },
  ],
  [
    'editor',
    'tenants/TENANT?path=/memories/refunds.md',
    async (page) => {
      const edit = page.getByRole('button', { name: 'Edit', exact: true });
      const editor = page.getByLabel('Content of the file');
      await edit.or(editor).first().waitFor();
      if (await edit.isVisible()) await edit.click();
      await editor.waitFor();
    },
  ],
  [
    'dialog of a new key',
    'keys',
    async (page) => {
      if ((await page.getByRole('dialog').count()) === 0)
        await page.getByRole('button', { name: 'New key' }).click();
      await page.getByRole('dialog').getByLabel('Label').waitFor();
    },
  ],
  [
    'dialog of a restore',
    'tenants/TENANT/history',
    async (page) => {
      const dialog = page.getByRole('dialog');
      if ((await dialog.count()) === 0) {
        await page.getByRole('button', { name: /created.*okafor/ }).click();
        await page.getByRole('button', { name: 'Restore…' }).click();
      }
      await dialog.getByRole('group', { name: 'Differences' }).waitFor();
    },
  ],
];

describeConsole('console pages in low windows', (fixture) => {
  let prepared: Promise<Prepared> | undefined;
  /** Adds comments, which take height from the differences. */
  async function prepare(): Promise<Prepared> {
    const views = await prepareViews(fixture());
    const { key } = await fixture().createKey();
    for (const line of ['Is the refund paid?', 'Ask finance.', 'See the ticket.', 'It is paid.'])
      await fetch(`${fixture().url}/v1/tenants/${views.tenant}/drafts/${views.draft}/comments`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ text: `${line}\n${line}` }),
      });
    return views;
  }

  it.each([...VIEWS, ...FULL_VIEWS])(
    'makes all content reachable by scrolling: %s',
    async (_name, place, isThere) => {
      prepared ??= prepare();
      const page = await fixture().openSignedIn(viewHash(place, await prepared));
      await page.emulateMedia({ reducedMotion: 'reduce' });
      const found: [string, string[]][] = [];
      for (const [width, height] of SIZES) {
        await page.setViewportSize({ width, height });
        await isThere(page);
        const hidden = await page.evaluate<string[]>(HIDDEN);
        if (hidden.length > 0) found.push([`${width}×${height}`, hidden]);
      }
      expect(found).toStrictEqual([]);
    },
  );
});
