import type { Page } from 'playwright-core';

/** Adds a filter to a list from the menu. Its field has the focus then. */
export async function addFilter(page: Page, title: string): Promise<void> {
  await page.getByRole('button', { name: 'Filter', exact: true }).click();
  await page.getByRole('button', { name: title, exact: true }).click();
}
