import { existsSync } from 'node:fs';
import puppeteer, { type Browser } from 'puppeteer-core';

const PATHS = ['/usr/bin/firefox', '/usr/bin/firefox-esr'];

/** Path to Firefox from FIREFOX_PATH or a usual place in Debian and others. Undefined if it is missing. */
export const firefoxPath = process.env.FIREFOX_PATH ?? PATHS.find((path) => existsSync(path));

/** Starts Firefox. Playwright drives only its own build of Firefox, so this browser has Puppeteer's API. */
export function launchFirefox(): Promise<Browser> {
  if (firefoxPath === undefined) {
    throw new Error("There is no Firefox: install Debian's firefox-esr, or set FIREFOX_PATH.");
  }
  return puppeteer.launch({ browser: 'firefox', executablePath: firefoxPath });
}
