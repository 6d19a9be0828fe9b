/** @module-tag long */
import { expect, it } from 'vitest';
import { Tenants } from '../../src/tenants/tenants.ts';
import { describeConsole } from '../support/console-suite.ts';
import { freshTenant } from '../support/service.ts';

describeConsole('the settings of a tenant in the console', (fixture) => {
  it('are all in the form, which saves only the filled fields', async () => {
    const { service, openSignedIn } = fixture();
    const tenants = new Tenants(service.database);
    const tenant = freshTenant();
    await tenants.createWith(tenant, { maxFiles: 500, secrets: 'mask' });
    const page = await openSignedIn(`#/tenants/${tenant}/settings`);
    const fields = page.locator('fieldset.grid > label');
    await fields.first().waitFor();
    expect(
      await fields.evaluateAll((labels) => labels.map(({ firstChild }) => firstChild?.textContent)),
    ).toStrictEqual([
      'Size of a file',
      'Size of all files',
      'Files',
      'Characters in a view',
      'Requests per minute',
      'Size of a request',
      'Days until unused files expire',
      'Days of history',
      'Size of the history',
      'Open drafts',
      'Size of all drafts',
      'Days until unused drafts expire',
      'Secrets in contents',
      'Creating a file that exists',
    ]);
    const field = (name: string) => page.getByLabel(name);
    expect(await field('Size of a file').getAttribute('placeholder')).toBe('1 MB');
    expect(await field('Days of history').getAttribute('placeholder')).toBe('30 days');
    expect(await field('Days until unused files').getAttribute('placeholder')).toBe('never');
    expect(await field('Secrets').locator('option').allTextContents()).toStrictEqual([
      'Default',
      'Store them',
      'Mask them',
      'Reject the write',
    ]);
    expect(await field('Creating').locator('option').allTextContents()).toStrictEqual([
      'Default (error)',
      'Refuse',
      'Overwrite the file',
    ]);

    await field('Creating').selectOption('Overwrite the file');
    await field('Secrets').selectOption('Default');
    await field('Days of history').fill('1w');
    const size = field('Size of all files');
    await size.fill('lots');
    expect(await size.evaluate((input) => 'validationMessage' in input && input.validationMessage)).toBe(
      'Enter a size such as 10MB, or a whole number of bytes.',
    );
    await size.fill('10 MB');
    await page.getByRole('button', { name: 'Save settings' }).click();
    await page.getByText('Saved the settings.').waitFor();
    await expect.poll(() => size.inputValue()).toBe('10MB');
    expect(await tenants.find(tenant)).toMatchObject({
      maxFiles: 500,
      secrets: null,
      createExisting: 'overwrite',
      historyDays: 7,
      maxFileBytes: null,
      maxBytes: 10_485_760,
    });
  });
});
