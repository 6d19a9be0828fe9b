/** @module-tag long */
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { describeConsole } from '../support/console-suite.ts';

/** Holds the requests from the page that change data, but not previews, until `release` is called. */
async function holdChanges(page: Page, url: string): Promise<{ release: () => void }> {
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  await page.route(url, async (route) => {
    if (route.request().postDataJSON().dry_run === false) await released;
    await route.continue();
  });
  return { release };
}

describeConsole('a long operation in the console', (fixture) => {
  it.each([
    ['Restore…', 'Restore', 'Restoring 1 file', '**/restore', /^Restored /],
    ['Revert actor…', 'Revert', 'Reverting 4 files', '**/revert', /Reverted the changes of /],
  ])('displays the number of files and the duration during %s', async (open, verb, doing, url, done) => {
    const tenant = await fixture().poisonedTenant();
    const page = await fixture().openSignedIn(`#/tenants/${tenant}/history?path=/memories/refunds.md`);
    const held = await holdChanges(page, url);
    await page.getByRole('button', { name: /created refunds\.md/ }).click();
    await page.getByRole('button', { name: open }).click();
    await page.clock.install();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: verb, exact: true }).click();
    const bar = dialog.getByRole('progressbar', { name: doing });
    await bar.waitFor();
    expect(await bar.getAttribute('value')).toBe(null);
    await page.clock.fastForward('01:05');
    await dialog.getByText(/^1 min \d+ s$/).waitFor();
    held.release();
    await page.getByText(done).waitFor();
  });
});
