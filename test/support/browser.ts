import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe } from 'vitest';
import { chromiumPath, launchChromium } from './chromium.ts';
import { describePage } from './page-report.ts';

/**
 * Runs a suite with a browser that resolves every name below `.test` to this machine. Without Chromium, the suite is
 * skipped, and its title gives the reason. A failed test reports its pages' text and requests.
 */
export function describeInBrowser(name: string, suite: (browser: () => Browser) => void): void {
  if (chromiumPath === undefined) {
    describe.skip(`${name} (skipped: there is no Chromium; install Debian's chromium or set CHROMIUM_PATH)`, () =>
      suite(throwNotStarted));
    return;
  }
  describe(name, { tags: 'long' }, () => {
    let browser: Browser | undefined;
    // This thread drives the browser and runs the service, so a long PGlite query delays both.
    const delays = monitorEventLoopDelay();
    beforeEach(() => {
      delays.reset();
      delays.enable();
    });
    beforeAll(async () => {
      browser = await launchChromium();
    });
    afterAll(() => browser?.close());
    suite(() => browser ?? throwNotStarted());
    // Hooks run in reverse order. This hook is the suite's last, so it runs before another hook closes the pages.
    afterEach(async ({ task }) => {
      delays.disable();
      const [error] = task.result?.errors ?? [];
      if (error === undefined || browser === undefined) return;
      const pages = browser.contexts().flatMap((context) => context.pages());
      const reports = await Promise.all(pages.map(describePage));
      const delay = `Longest delay of the event loop: ${Math.round(delays.max / 1e6)} ms`;
      error.message += `\n\n${delay}\nPages of the test:\n${reports.join('\n\n')}`;
    });
  });
}

function throwNotStarted(): never {
  throw new Error('the browser is started in beforeAll');
}
