/** @module-tag long */
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { describeConsole, signIn } from '../support/console-suite.ts';
import { createAgent } from '../support/start-console.ts';

/** Holds back the responses with a path until the returned function is called. */
async function holdResponses(page: Page, path: RegExp): Promise<() => void> {
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  await page.route(path, async (route) => {
    await released;
    await route.continue();
  });
  return release;
}

const tab = (page: Page, name: string) =>
  page.getByRole('navigation', { name: 'Tenant' }).getByRole('link', { name, exact: true });

describeConsole('views that open again', (fixture) => {
  it('show the last rows and files immediately, and the new rows after the response', async () => {
    const tenant = await fixture().poisonedTenant();
    const { app, database } = fixture().service;
    const page = await fixture().openSignedIn(`#/tenants/${tenant}`);
    const file = page.getByRole('treeitem', { name: 'style.md' });
    await file.waitFor();
    await tab(page, 'History').click();
    const rows = page.locator('.version-path');
    await rows.first().waitFor();
    const before = await rows.allTextContents();
    const release = await holdResponses(page, /\/v1\/tenants\/[^/]+\/(directory|versions)/);
    await tab(page, 'Memory').click();
    await file.waitFor();
    await tab(page, 'History').click();
    await expect.poll(() => rows.allTextContents()).toStrictEqual(before);
    await tab(page, 'Settings').click();
    const agent = await createAgent(app, database, tenant, 'agent');
    await agent({ command: 'create', path: '/memories/later.md', file_text: 'text' });
    await tab(page, 'History').click();
    release();
    await expect.poll(() => rows.first().textContent()).toBe('later.md');
  });

  it('show nothing from the session before', async () => {
    await fixture().poisonedTenant();
    const page = await fixture().openSignedIn('#/keys');
    await page.locator('tbody th').first().waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    const release = await holdResponses(page, /\/v1\/keys/);
    await signIn(page, (await fixture().createKey()).key);
    await page.getByText('Loading keys').waitFor();
    expect(await page.locator('tbody th').count()).toBe(0);
    release();
    await page.locator('tbody th').first().waitFor();
  });
});
