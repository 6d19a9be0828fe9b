/** @module-tag long */
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { describeConsole } from '../support/console-suite.ts';

const BUSY = {
  status: 503,
  headers: { 'retry-after': '0' },
  contentType: 'application/problem+json',
  body: JSON.stringify({ code: 'overloaded', detail: 'The service is at capacity. Try again later.' }),
};

/** Rejects the next requests for tenants. Returns a function that counts the requests so far. */
async function rejectRequests(page: Page, times: number, answer: object = BUSY): Promise<() => number> {
  let seen = 0;
  await page.route(/\/v1\/tenants(\?|$)/, (route) =>
    seen++ < times ? route.fulfill(answer) : route.continue(),
  );
  return () => seen;
}

describeConsole('the console with a busy service', (fixture) => {
  it('retries reads when the service is busy, and displays that it tries again', async () => {
    await fixture().poisonedTenant();
    const page = await fixture().openSignedIn('#/keys');
    const seen = await rejectRequests(page, 2, { ...BUSY, headers: { 'retry-after': '1' } });
    await page.getByRole('link', { name: 'Tenants', exact: true }).click();
    await page.getByText('The service is busy. Trying again…').waitFor();
    await page.locator('tbody a').first().waitFor();
    expect(seen()).toBe(3);
    await expect.poll(() => page.getByText('The service is busy.').count()).toBe(0);
  });

  it('displays an error after the last retry fails, and reads again when the user asks', async () => {
    await fixture().poisonedTenant();
    const page = await fixture().openSignedIn('#/keys');
    const seen = await rejectRequests(page, 3);
    await page.getByRole('link', { name: 'Tenants', exact: true }).click();
    await page.getByRole('alert').getByText('The service is at capacity. Try again later.').waitFor();
    expect(seen()).toBe(3);
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.locator('tbody a').first().waitFor();
  });

  it('does not retry a change, or a read that was rejected without a Retry-After header', async () => {
    const page = await fixture().openSignedIn('#/keys');
    const seen = await rejectRequests(page, 2, { ...BUSY, headers: {} });
    await page.getByRole('link', { name: 'Tenants', exact: true }).click();
    await page.getByRole('alert').waitFor();
    expect(seen()).toBe(1);
    await page.getByRole('button', { name: 'New tenant' }).click();
    await page.getByRole('textbox', { name: /^ID/ }).fill('not-made');
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('dialog').getByRole('alert').waitFor();
    expect(seen()).toBe(2);
  });
});
