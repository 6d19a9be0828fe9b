/** @module-tag long */
import { expect, it } from 'vitest';
import { setMount } from '../../src/core/tenants/mounts.ts';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { describeConsole } from '../support/console-suite.ts';
import { freshTenant } from '../support/test-service.ts';

describeConsole("a tenant's settings in the console", (fixture) => {
  it('asks before a save overwrites settings, keys, or mounts that another tab has changed', async () => {
    const tenants = new Tenants(fixture().service.database);
    const [tenant, team] = [freshTenant(), freshTenant('team')];
    for (const each of [tenant, team]) await tenants.create(each);
    await setMount(fixture().service.database, tenant, {
      name: 'team',
      tenant: team,
      access: 'read_only',
      instructions: '',
    });
    await fixture().createKey({ tenant, isAdmin: false, label: 'bot' });
    const place = `#/tenants/${tenant}/settings`;
    const [first, second] = [await fixture().openSignedIn(place), await fixture().openSignedIn(place)];
    const question = second.getByRole('dialog', { name: 'Overwrite a newer change?' });
    const overwrite = question.getByRole('button', { name: 'Overwrite' });

    // Conflicting changes to settings. A change to another setting is no conflict.
    for (const page of [first, second]) await page.getByLabel('Days of history').waitFor();
    await second.getByLabel('Days of history').fill('9');
    await second.getByRole('textbox', { name: /^Size of all files/ }).fill('20 MB');
    await first.getByLabel('Open drafts').fill('3');
    await first.getByRole('textbox', { name: /^Size of all files/ }).fill('10 MB');
    await first.getByRole('button', { name: 'Save settings' }).click();
    await first.getByText('Saved the settings.').waitFor();
    await second.getByRole('button', { name: 'Save settings' }).click();
    await question.getByText('Size of all files is now: 10 MB').waitFor();
    expect(await question.getByText('Days of history').count()).toBe(0);
    await question.getByRole('button', { name: 'Cancel' }).click();
    expect(await tenants.find(tenant)).toMatchObject({ maxBytes: 10_485_760, historyDays: null });
    await second.getByRole('button', { name: 'Save settings' }).click();
    await overwrite.click();
    await second.getByText('Saved the settings.').waitFor();
    expect(await tenants.find(tenant)).toMatchObject({
      maxBytes: 20_971_520,
      historyDays: 9,
      maxDrafts: 3,
    });

    // Conflicting changes to a key.
    for (const page of [first, second]) await page.getByRole('button', { name: 'Edit… bot' }).click();
    for (const page of [first, second]) {
      await page
        .getByRole('dialog')
        .getByLabel('Label')
        .fill(page === first ? 'robot' : 'crawler');
      await page.getByRole('button', { name: 'Save', exact: true }).click();
      if (page === first) await page.getByText('Saved the key.').waitFor();
    }
    await question.getByText('Label is now: robot').waitFor();
    await overwrite.click();
    await second.getByText('Saved the key.').waitFor();

    // Conflicting changes to a mount.
    for (const page of [first, second]) await page.getByRole('button', { name: 'Edit team' }).click();
    await first.getByLabel('Instructions for agents').fill('The rules of the team.');
    await first.getByRole('button', { name: 'Save', exact: true }).click();
    await first.getByText('Saved the mount.').waitFor();
    await second.getByRole('dialog').getByLabel('Access').selectOption('Read and write');
    await second.getByRole('button', { name: 'Save', exact: true }).click();
    await question.getByText('Instructions is now: The rules of the team.').waitFor();
    await question.getByRole('button', { name: 'Cancel' }).click();
    expect((await tenants.find(tenant))?.mounts).toMatchObject([
      { access: 'read_only', instructions: 'The rules of the team.' },
    ]);
  });

  it('shows a field for each setting, and saves only the changed fields', async () => {
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
      'Days of the read trail',
      'Records in the read trail',
      'Provenance in views and searches',
      'Secrets in contents',
      'Creating a file that exists',
      'Characters in a context',
      'Pinned paths',
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
      'Reject',
      'Overwrite the file',
    ]);

    await field('Creating').selectOption('Overwrite the file');
    await field('Secrets').selectOption('Default');
    await field('Days of history').fill('1w');
    await field('Pinned paths').fill('/memories/user.md, /memories/team/');
    const size = page.getByRole('textbox', { name: /^Size of all files/ });
    await size.fill('lots');
    expect(await size.evaluate((input) => 'validationMessage' in input && input.validationMessage)).toBe(
      'Enter a size such as 10MB, or a whole number of bytes.',
    );
    await size.fill('10 MB');
    await page.getByRole('button', { name: 'Save settings' }).click();
    await page.getByText('Saved the settings.').waitFor();
    await expect.poll(() => size.inputValue()).toBe('10 MB');
    expect(await tenants.find(tenant)).toMatchObject({
      maxFiles: 500,
      secrets: null,
      createExisting: 'overwrite',
      historyDays: 7,
      pinnedPaths: '/memories/user.md,/memories/team',
      maxFileBytes: null,
      maxBytes: 10_485_760,
    });
  });
});
