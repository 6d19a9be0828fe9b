/** @module-tag long */
import { expect, it } from 'vitest';
import { describeConsole } from '../support/console-suite.ts';

describeConsole('kept-out texts in the console', (fixture) => {
  async function keepOut(path: string, label: string, text: string) {
    const { key } = await fixture().createKey();
    const response = await fetch(`${fixture().url}/v1/${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ text, label }),
    });
    expect(response.status).toBe(201);
  }

  it('lists texts that are kept out everywhere or in one tenant, and allows them again', async () => {
    const tenant = await fixture().poisonedTenant();
    await keepOut('kept-out', 'incident 42', 'The account 4929 1234 5678');
    await keepOut(`tenants/${tenant}/kept-out`, 'incident 43', 'The account 4929 1234 5679');
    for (const [place, label] of [
      ['#/incidents', 'incident 42'],
      [`#/tenants/${tenant}/settings`, 'incident 43'],
    ] as const) {
      const page = await fixture().openSignedIn(place);
      const row = page.getByRole('row', { name: label });
      await row.getByText('admin key console').waitFor();
      await row.getByRole('button', { name: 'Allow again…' }).click();
      const dialog = page.getByRole('dialog', { name: 'Allow the text again?' });
      await dialog.getByText(label).waitFor();
      await dialog.getByRole('button', { name: 'Allow again', exact: true }).click();
      await page.getByText('The text is allowed again.').waitFor();
      await page.getByText('No texts are kept out').waitFor();
    }
  });

  it('keeps a text out of all memories or one memory before any file contains it', async () => {
    const tenant = await fixture().poisonedTenant();
    for (const [place, where] of [
      ['#/incidents', 'All tenants'],
      [`#/tenants/${tenant}/settings`, 'This tenant'],
    ] as const) {
      const page = await fixture().openSignedIn(place);
      await page.getByRole('button', { name: 'Keep a text out' }).click();
      const dialog = page.getByRole('dialog', { name: 'Keep a text out' });
      await dialog.getByLabel('Text', { exact: true }).fill('The account 4929 1234 5678 9012');
      await dialog.getByLabel('Label').fill('prevention');
      await dialog.getByRole('combobox').selectOption(where);
      await dialog.getByRole('button', { name: 'Keep out', exact: true }).click();
      await page.getByRole('row', { name: 'prevention' }).getByText('admin key console').waitFor();
      await page.getByRole('button', { name: /^Allow again/ }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Allow again', exact: true }).click();
      await page.getByText('No texts are kept out').waitFor();
    }
  });

  it('hides Allow again from keys without that access, and the list for all memories from scoped keys', async () => {
    const tenant = await fixture().poisonedTenant();
    await keepOut('kept-out', 'of all', 'The account 4929 1234 5670');
    await keepOut(`tenants/${tenant}/kept-out`, 'of one', 'The account 4929 1234 5671');
    const operator = await fixture().openSignedIn('#/incidents', { access: 'operate' });
    await operator.getByRole('row', { name: 'of all' }).waitFor();
    expect(await operator.getByRole('button', { name: /^Allow again/ }).count()).toBe(0);
    await operator.goto(`${fixture().url}/#/tenants/${tenant}/settings`);
    await operator
      .getByRole('row', { name: 'of one' })
      .getByRole('button', { name: /^Allow again/ })
      .waitFor();
    const reader = await fixture().openSignedIn(`#/tenants/${tenant}/settings`, { access: 'read_only' });
    await reader.getByRole('row', { name: 'of one' }).waitFor();
    expect(await reader.getByRole('button', { name: /^Allow again/ }).count()).toBe(0);
    const scoped = await fixture().openSignedIn('#/incidents', { onlyTenants: [tenant] });
    await scoped.getByText('No jobs in the last 30 days').waitFor();
    expect(await scoped.getByText('Texts kept out of all memories').count()).toBe(0);
  });
});
