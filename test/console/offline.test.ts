/** @module-tag long */
import { expect, it } from 'vitest';
import { describeConsole } from '../support/console-suite.ts';
import { runJobs } from '../support/run-jobs.ts';

describeConsole('the console without a connection', (fixture) => {
  it("warns while a job's progress cannot be read, and removes the warning when it can be read again", async () => {
    await fixture().poisonedTenant();
    const page = await fixture().openSignedIn('#/incidents');
    await page.getByLabel('Text to find').fill('refund');
    await page.getByRole('button', { name: 'Find', exact: true }).click();
    await page.getByText('waiting for a replica').waitFor();
    const warning = page.getByRole('alert').filter({ hasText: 'No news since' });
    await page.route('**/v1/jobs/*', (route) => route.abort());
    await warning.getByText('The service cannot be reached.').waitFor();
    await warning.getByText('The job goes on in the service.').waitFor();
    await page.unroute('**/v1/jobs/*');
    await expect.poll(() => warning.count()).toBe(0);
    const stopJobs = runJobs(fixture().service);
    await page.locator('.job-result').waitFor();
    await stopJobs();
  });

  it("offers to load a page's code and styles again after the load failed", async () => {
    const page = await fixture().openSignedIn('');
    const scripts = '**/assets/incidents-page*';
    await page.route(scripts, (route) => route.abort());
    await page.getByRole('link', { name: 'Incident', exact: true }).click();
    const error = page.getByRole('alert');
    await error.getByText(/^The code of the page could not be loaded\. Check the connection/).waitFor();
    expect(await error.textContent()).not.toContain('http');
    await error.getByRole('button', { name: 'Reload the page' }).waitFor();
    await page.unroute(scripts);
    await error.getByRole('button', { name: 'Try again' }).click();
    await page.getByLabel('Text to find').waitFor();
    expect(await page.evaluate("getComputedStyle(document.querySelector('.jobs-title')).marginTop")).not.toBe(
      '0px',
    );
  });
});
