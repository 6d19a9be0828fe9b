import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe } from 'vitest';
import { chromiumPath, launchChromium } from './chromium.ts';
import { describePage } from './page-report.ts';

/**
 * Runs a suite with a browser that resolves every name below `.test` to this machine. Without Chromium, the suite is
 * skipped, and its title gives the reason. A failed test reports the text and requests of its pages.
 */
export function describeInBrowser(name: string, suite: (browser: () => Browser) => void): void {
  if (chromiumPath === undefined) {
    describe.skip(`${name} (skipped: there is no Chromium; install Debian's chromium or set CHROMIUM_PATH)`, () =>
      suite(notStarted));
    return;
  }
  describe(name, { tags: 'long' }, () => {
    let browser: Browser | undefined;
    beforeAll(async () => {
      browser = await launchChromium();
    });
    afterAll(() => browser?.close());
    suite(() => browser ?? notStarted());
    // The last hook of a suite runs first, before a hook of the suite closes the pages.
    afterEach(async ({ task }) => {
      const [error] = task.result?.errors ?? [];
      if (error === undefined || browser === undefined) return;
      const pages = browser.contexts().flatMap((context) => context.pages());
      const reports = await Promise.all(pages.map(describePage));
      error.message += `\n\nPages of the test:\n${reports.join('\n\n')}`;
    });
  });
}

function notStarted(): never {
  throw new Error('the browser is started in beforeAll');
}
