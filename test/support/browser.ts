import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe } from 'vitest';
import { chromiumPath, launchChromium } from './chromium.ts';

/**
 * Runs a suite with a browser that resolves every name below `.test` to this machine. Without Chromium, the suite is
 * skipped, and its title gives the reason.
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
  });
}

function notStarted(): never {
  throw new Error('the browser is started in beforeAll');
}
