/** @module-tag long */
import type { Browser, Page } from 'puppeteer-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { describeConsole } from '../support/console-suite.ts';
import { firefoxPath, launchFirefox } from '../support/firefox.ts';
import { type Prepared, prepareViews, VIEWS, viewHash } from './all-views.ts';
import { EXCESSES } from './excesses.ts';

/** Limit for actions that hang, like the limits in vitest.config.ts. It does not measure speed. */
const ACTION_TIMEOUT_MS = 120_000;

/** Whether the page has a heading and loads nothing. A string, because it runs in the page. */
const IS_COMPLETE = `document.querySelector('h1, h2') !== null && !/Loading .*…/.test(document.body.textContent)`;

/** Presses a key with the modifier Ctrl. */
async function pressWithCtrl(page: Page, key: 'a' | 's'): Promise<void> {
  await page.keyboard.down('Control');
  await page.keyboard.press(key);
  await page.keyboard.up('Control');
}

const button = (name: string) => `::-p-xpath(//button[normalize-space()='${name}'])`;

describeConsole('the console in Firefox', (fixture) => {
  describe.skipIf(firefoxPath === undefined)('with firefox-esr or FIREFOX_PATH', () => {
    let firefox: Browser;
    let prepared: Prepared;
    let faults: string[] = [];
    beforeAll(async () => {
      firefox = await launchFirefox();
      prepared = await prepareViews(fixture());
    });
    afterAll(() => firefox?.close());
    afterEach(() => {
      const found = faults;
      faults = [];
      expect(found).toEqual([]);
    });

    /** Opens a page in a separate context, signed in with a new admin key. */
    async function openSignedIn(hash: string): Promise<Page> {
      const context = await firefox.createBrowserContext();
      const page = await context.newPage();
      page.setDefaultTimeout(ACTION_TIMEOUT_MS);
      page.on('pageerror', (error) => faults.push(String(error)));
      const { key } = await fixture().createKey({ label: 'anna' });
      await page.goto(`${fixture().url}/${hash}`);
      await page.locator('input[type=password]').fill(key);
      await page.locator(button('Sign in')).click();
      await page.locator(button('Sign out')).wait();
      return page;
    }

    it.each(VIEWS)('shows %s without overlaps', async (_name, place) => {
      const page = await openSignedIn(viewHash(place, prepared));
      for (const width of [1280, 800]) {
        await page.setViewport({ width, height: 900 });
        await page.waitForFunction(IS_COMPLETE);
        await expect.poll(() => page.evaluate(EXCESSES), { message: `${width} pixels` }).toEqual([]);
      }
      await page.browserContext().close();
    });

    it('edits a file', async () => {
      const tenant = await fixture().poisonedTenant();
      const page = await openSignedIn(`#/tenants/${tenant}?path=/memories/refunds.md`);
      await page.locator(button('Edit')).click();
      await page.locator('.cm-content[contenteditable=true]').click();
      await pressWithCtrl(page, 'a');
      await page.keyboard.type('Refunds need an approval.');
      await pressWithCtrl(page, 's');
      await page.locator('::-p-text(Saved)').wait();
      expect(await page.$eval('main', ({ textContent }) => textContent)).toContain(
        'Refunds need an approval.',
      );
    });
  });
});
