import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

const PATHS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** Path to Chromium from CHROMIUM_PATH or a usual place in Debian and others. Undefined if it is missing. */
export const chromiumPath = process.env.CHROMIUM_PATH ?? PATHS.find((path) => existsSync(path));

/** Limit for actions that hang, like the limits in vitest.config.ts. It does not measure speed. */
const ACTION_TIMEOUT_MS = 120_000;

/** Starts a browser that resolves every name below `.test` to this machine. */
export async function launchChromium(): Promise<Browser> {
  if (chromiumPath === undefined) {
    throw new Error("There is no Chromium: install Debian's chromium, or set CHROMIUM_PATH.");
  }
  const browser = await chromium.launch({
    executablePath: chromiumPath,
    // The sandbox needs privileges that containers lack, and the browser opens only pages from this repository.
    args: ['--no-sandbox', '--host-resolver-rules=MAP *.test 127.0.0.1'],
  });
  browser.on('context', (context) => context.setDefaultTimeout(ACTION_TIMEOUT_MS));
  return browser;
}
