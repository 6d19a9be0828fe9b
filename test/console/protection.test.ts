/** @module-tag long */
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { describeConsole, signIn } from '../support/console-suite.ts';
import { readEditor } from '../support/read-editor.ts';
import { freshTenant } from '../support/test-service.ts';

const lines = (page: Page) => page.locator('.lines .cm-line').allTextContents();
const question = (page: Page) => page.getByRole('dialog', { name: 'Discard your changes?' });
const editor = (page: Page) => page.getByLabel('Content of the file');

describeConsole('protection for work in the console', (fixture) => {
  async function startEdit(tenant: string): Promise<Page> {
    const page = await fixture().openSignedIn(`#/tenants/${tenant}`);
    await page.getByRole('treeitem', { name: 'style.md' }).click();
    await page.getByRole('button', { name: 'Edit' }).click();
    await editor(page).fill('not saved\n');
    await page.getByText('Unsaved changes').waitFor();
    return page;
  }

  it('asks before an unsaved edit is lost, however the user leaves the page', async () => {
    const tenant = await fixture().poisonedTenant();
    const page = await startEdit(tenant);
    const ways: [string, () => Promise<unknown>][] = [
      ['another file', () => page.getByRole('treeitem', { name: 'refunds.md' }).click()],
      ['a tab', () => page.getByRole('link', { name: 'History', exact: true }).click()],
      ['the tenants', () => page.getByRole('link', { name: 'Tenants', exact: true }).first().click()],
      ['Back', () => page.evaluate('history.back()')],
      ['a change of the time', () => page.getByRole('slider', { name: 'Time' }).press('Home')],
      ['Cancel', () => page.getByRole('button', { name: 'Cancel' }).click()],
      ['Sign out', () => page.getByRole('button', { name: 'Sign out' }).click()],
    ];
    for (const [way, leave] of ways) {
      await leave();
      await question(page).waitFor();
      await question(page).getByRole('button', { name: 'Keep editing' }).click();
      expect([way, await readEditor(editor(page))]).toStrictEqual([way, 'not saved\n']);
      expect(page.url()).toContain('path=%2Fmemories%2Fstyle.md');
    }
    // The browser asks before a reload.
    const asked = page.waitForEvent('dialog').then(async (dialog) => {
      await dialog.dismiss();
      return dialog.type();
    });
    await page.reload({ timeout: 2000 }).catch(() => {});
    expect(await asked).toBe('beforeunload');
    expect(await readEditor(editor(page))).toBe('not saved\n');

    // The edit survives the reload.
    page.once('dialog', (dialog) => dialog.accept());
    await page.reload();
    await expect.poll(() => readEditor(editor(page))).toBe('not saved\n');
    await page.getByText('Unsaved changes').waitFor();

    await page.evaluate('history.back()');
    await question(page).getByRole('button', { name: 'Discard' }).click();
    await page.getByRole('heading', { name: 'Last changes' }).waitFor();
    // After the save, the console does not ask.
    await page.getByRole('treeitem', { name: 'style.md' }).click();
    await expect.poll(() => lines(page)).toContain('# Tone');
  });

  it('returns the focus as soon as a question is closed', async () => {
    const page = await startEdit(await fixture().poisonedTenant());
    await page.getByRole('treeitem', { name: 'refunds.md' }).click();
    const keep = question(page).getByRole('button', { name: 'Keep editing' });
    await keep.waitFor();
    // The focus is read in the first task after the click, before the next frame and any further input.
    const focused = await page.evaluate(`new Promise((resolve) => {
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = () => resolve(document.activeElement.getAttribute('role'));
      document.activeElement.click();
      port2.postMessage(null);
    })`);
    expect(focused).toBe('treeitem');
    expect(await keep.count()).toBe(0);
  });

  it('keeps an unsaved edit when the session ends', async () => {
    const tenant = await fixture().poisonedTenant();
    const page = await fixture().open(
      await fixture().newContext(),
      `#/tenants/${tenant}?path=/memories/style.md`,
    );
    const { id, key } = await fixture().createKey();
    await signIn(page, key);
    await page.getByRole('button', { name: 'Edit' }).click();
    await editor(page).fill('not saved\n');
    await fixture().service.query('UPDATE api_keys SET revoked_at = now() WHERE id = $1', [id]);
    // The service caches the key for a second.
    const session = () =>
      fetch(`${fixture().url}/v1/session`, { headers: { authorization: `Bearer ${key}` } });
    await expect.poll(async () => (await session()).status).toBe(401);
    // The stream of changes ends, and the session with it.
    await signIn(page, (await fixture().createKey()).key);
    await expect.poll(() => readEditor(editor(page))).toBe('not saved\n');
    await page.getByRole('button', { name: 'Save' }).click();
    await expect.poll(() => lines(page)).toStrictEqual(['not saved']);
  });

  it('asks before a dialog with a filled form is closed', async () => {
    const page = await fixture().openSignedIn(`#/tenants/${await fixture().poisonedTenant()}`);
    await page.getByRole('button', { name: 'New file' }).click();
    await page.getByLabel('Content', { exact: true }).fill('typed');
    await page.keyboard.press('Escape');
    await question(page).getByRole('button', { name: 'Keep editing' }).click();
    expect(await readEditor(page.getByLabel('Content', { exact: true }))).toBe('typed');
    await page.getByRole('button', { name: 'Cancel' }).click();
    await question(page).getByRole('button', { name: 'Discard' }).click();
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0);
  });

  it('returns with Back from a file to the memory, and from the memory to the tenants', async () => {
    const tenant = await fixture().poisonedTenant();
    const page = await fixture().openSignedIn('');
    await page.getByLabel('Search tenants').fill(tenant);
    await page.getByRole('link', { name: tenant }).click();
    await page.getByRole('treeitem', { name: 'style.md' }).click();
    await page.getByRole('heading', { name: 'style.md' }).waitFor();
    await page.getByRole('treeitem', { name: 'refunds.md' }).click();
    await page.getByRole('heading', { name: 'refunds.md' }).waitFor();
    await page.goBack();
    await page.getByRole('heading', { name: 'style.md' }).waitFor();
    await page.goBack();
    await page.getByRole('heading', { name: 'Last changes' }).waitFor();
    await page.goBack();
    await page.getByRole('heading', { name: 'Tenants' }).waitFor();
    await page.goForward();
    await page.getByRole('heading', { name: 'Last changes' }).waitFor();
  });

  it("restores a list's loaded rows and scroll position after Back", async () => {
    const tenants = new Tenants(fixture().service.database);
    const prefix = freshTenant('back');
    const ids = Array.from({ length: 70 }, (_, i) => `${prefix}-${String(i).padStart(2, '0')}`);
    for (const id of ids) await tenants.create(id);
    const page = await fixture().openSignedIn(`#/?search=${prefix}-`);
    await page.getByRole('button', { name: 'Show more tenants' }).click();
    const last = page.getByRole('link', { name: ids[69] ?? '' });
    await last.scrollIntoViewIfNeeded();
    const scroll = () => page.evaluate<number>('scrollY');
    const before = await scroll();
    expect(before).toBeGreaterThan(1000);
    await last.click();
    await page.getByText('No files yet').waitFor();
    expect(await scroll()).toBe(0);
    await page.goBack();
    await last.waitFor();
    await expect.poll(scroll).toBe(before);
    expect(await page.getByRole('button', { name: 'Show more tenants' }).count()).toBe(0);
  });

  it('explains an invalid time in the address and links to the current memory', async () => {
    const tenant = await fixture().poisonedTenant();
    const page = await fixture().openSignedIn(`#/tenants/${tenant}?path=/memories/style.md&at=yesterday`);
    await page.getByText('The address does not contain a valid time').waitFor();
    await page.getByRole('button', { name: 'Show the memory as it is now' }).click();
    await expect.poll(() => lines(page)).toContain('# Tone');
    // An invalid time in a filter is explained with an example.
    await page.goto(`${fixture().url}/#/tenants/${tenant}/history?since=yesterday`);
    await page
      .getByText('"yesterday" is not a valid time. Use an ISO 8601 time (2026-11-22, 2026-11-22T09:30:00Z,')
      .waitFor();
  });

  it('keeps a new key on the screen until it is copied', async () => {
    const page = await fixture().openSignedIn(`#/tenants/${await fixture().poisonedTenant()}/settings`);
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    const create = async () => {
      await page.getByRole('button', { name: 'New key' }).click();
      await page.getByRole('dialog').getByLabel('Label').fill('bot');
      await page.getByRole('button', { name: 'Create' }).click();
      return page.getByRole('textbox', { name: 'The key', exact: true }).inputValue();
    };
    const secret = await create();
    for (let i = 0; i < 3; i++) await page.keyboard.press('Escape');
    await page.getByText('You have not copied the key.').waitFor();
    expect(await page.getByRole('textbox', { name: 'The key', exact: true }).inputValue()).toBe(secret);
    await page.getByRole('button', { name: 'Copy the key' }).click();
    await expect.poll(() => page.evaluate('navigator.clipboard.readText()')).toBe(secret);
    await page.keyboard.press('Escape');
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0);
  });

  it('asks before a tenant is suspended', async () => {
    const tenant = await fixture().poisonedTenant();
    const page = await fixture().openSignedIn(`#/tenants/${tenant}/settings`);
    const dialog = page.getByRole('dialog', { name: 'Suspend the tenant?' });
    await page.getByRole('button', { name: 'Suspend…' }).click();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await expect.poll(() => dialog.count()).toBe(0);
    expect(await page.getByText('suspended', { exact: true }).count()).toBe(0);
    await page.getByRole('button', { name: 'Suspend…' }).click();
    await dialog.getByRole('button', { name: 'Suspend' }).click();
    await page.getByText('suspended', { exact: true }).waitFor();
  });

  it('offers an undo after a file or a directory is deleted', async () => {
    const page = await fixture().openSignedIn(
      `#/tenants/${await fixture().poisonedTenant()}?path=/memories/style.md`,
    );
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await expect.poll(() => page.getByRole('treeitem', { name: 'style.md' }).count()).toBe(0);
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByRole('treeitem', { name: 'style.md' }).click();
    await expect.poll(() => lines(page)).toContain('# Tone');

    await page.getByRole('treeitem', { name: 'customers' }).locator('.tree-open').click();
    await page.getByRole('button', { name: 'Delete…' }).click();
    await page.getByRole('dialog').getByText('This deletes 3 files.').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await expect.poll(() => page.getByRole('treeitem', { name: 'lee.md' }).count()).toBe(0);
    await page.getByRole('button', { name: 'Undo' }).last().click();
    await page.getByRole('treeitem', { name: 'lee.md' }).click();
    await expect.poll(() => lines(page)).toContain('- Got a refund of 900 EUR');
  });

  it('offers an undo after a file is moved', async () => {
    const page = await fixture().openSignedIn(
      `#/tenants/${await fixture().poisonedTenant()}?path=/memories/style.md`,
    );
    await page.getByRole('button', { name: 'Move…' }).click();
    await page.getByLabel('New path').fill('/memories/guides/tone.md');
    await page.getByRole('button', { name: 'Move', exact: true }).click();
    await page.getByRole('heading', { name: 'guides/tone.md' }).waitFor();
    await page.getByRole('treeitem', { name: 'tone.md' }).waitFor();
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByRole('heading', { name: 'style.md' }).waitFor();
    await page.getByRole('treeitem', { name: 'style.md' }).waitFor();
    await expect.poll(() => lines(page)).toContain('# Tone');
  });
});
