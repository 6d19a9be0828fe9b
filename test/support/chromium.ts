import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

const PATHS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** Chromium as CHROMIUM_PATH names it, or where Debian and others install it; undefined when there is none. */
export const chromiumPath = process.env.CHROMIUM_PATH ?? PATHS.find((path) => existsSync(path));

/** Starts a browser in which every name below `.test` is this machine. */
export function launchChromium(): Promise<Browser> {
  if (chromiumPath === undefined) {
    throw new Error("There is no Chromium: install Debian's chromium, or set CHROMIUM_PATH.");
  }
  return chromium.launch({
    executablePath: chromiumPath,
    // The sandbox needs privileges that containers do not have; only this repository's pages are opened.
    args: ['--no-sandbox', '--host-resolver-rules=MAP *.test 127.0.0.1'],
  });
}
