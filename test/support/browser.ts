import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';
import { afterAll, beforeAll, describe } from 'vitest';

const PATHS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** Chromium as CHROMIUM_PATH names it, or where Debian and others install it. */
const executablePath = process.env.CHROMIUM_PATH ?? PATHS.find((path) => existsSync(path));

/**
 * Runs a suite with a browser in which every name below `.test` is this machine. Without Chromium the suite is skipped, and its name
 * says so.
 */
export function describeInBrowser(name: string, suite: (browser: () => Browser) => void): void {
  if (executablePath === undefined) {
    describe.skip(`${name} (skipped: there is no Chromium; install Debian's chromium or set CHROMIUM_PATH)`, () =>
      suite(notStarted));
    return;
  }
  describe(name, () => {
    let browser: Browser | undefined;
    beforeAll(async () => {
      browser = await chromium.launch({
        executablePath,
        // The sandbox needs privileges that containers do not have; only this repository's pages are opened.
        args: ['--no-sandbox', '--host-resolver-rules=MAP *.test 127.0.0.1'],
      });
    });
    afterAll(() => browser?.close());
    suite(() => browser ?? notStarted());
  });
}

function notStarted(): never {
  throw new Error('the browser is started in beforeAll');
}
