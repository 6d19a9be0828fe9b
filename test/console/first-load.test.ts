/** @module-tag long */
import { stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { describeConsole, signIn } from '../support/console-suite.ts';

const ASSETS = 'console/dist/assets';
const MAX_BYTES = 95_000;

describeConsole('first load of the console', (fixture) => {
  it('requests the page, one script, and one style sheet until the tenants are shown', async () => {
    const { newContext, url, createKey } = fixture();
    const context = await newContext();
    const requested: string[] = [];
    context.on('request', (request) => {
      const { pathname } = new URL(request.url());
      if (pathname === '/' || pathname.startsWith('/assets/')) requested.push(pathname);
    });
    const page = await context.newPage();
    await page.goto(url);
    await signIn(page, (await createKey()).key);
    await page.getByRole('heading', { name: 'Tenants', level: 1 }).waitFor();
    expect(requested.map((path) => path.replace(/-.{8}\./, '.'))).toStrictEqual([
      '/',
      '/assets/index.js',
      '/assets/style.css',
    ]);
    const assets = requested.slice(1).map(async (path) => stat(join(ASSETS, `${basename(path)}.gz`)));
    const sizes = (await Promise.all(assets)).map(({ size }) => size);
    expect(sizes.reduce((sum, size) => sum + size)).toBeLessThan(MAX_BYTES);
  });

  it("moves the focus to the heading when a page's code has loaded", async () => {
    const page = await fixture().openSignedIn('');
    await page.getByRole('link', { name: 'Audit', exact: true }).click();
    await page.getByRole('heading', { name: 'Audit', level: 1 }).waitFor();
    await expect.poll(() => focusedText(page)).toBe('Audit');
  });
});

const focusedText = (page: Page) => page.evaluate<string>('document.activeElement.textContent');
