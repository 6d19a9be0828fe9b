import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

const PATHS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** Path of Chromium from CHROMIUM_PATH or a usual place of Debian and others. Undefined if it is missing. */
export const chromiumPath = process.env.CHROMIUM_PATH ?? PATHS.find((path) => existsSync(path));

/** Starts a browser that resolves every name below `.test` to this machine. */
export function launchChromium(): Promise<Browser> {
  if (chromiumPath === undefined) {
    throw new Error("There is no Chromium: install Debian's chromium, or set CHROMIUM_PATH.");
  }
  return chromium.launch({
    executablePath: chromiumPath,
    // The sandbox needs privileges that containers lack, and the browser opens only pages of this repository.
    args: ['--no-sandbox', '--host-resolver-rules=MAP *.test 127.0.0.1'],
  });
}
