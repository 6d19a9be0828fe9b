/** @module-tag long */
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { type ConsoleFixture, describeConsole } from '../support/console-suite.ts';
import { createAgent } from '../support/start-console.ts';
import { freshTenant } from '../support/test-service.ts';

const PHONE = { width: 390, height: 844 };

/** Creates a file with four versions that moves between the second and the third. */
async function editedTenant({ service }: ConsoleFixture): Promise<string> {
  const tenant = freshTenant();
  await new Tenants(service.database).create(tenant);
  const agent = await createAgent(service.app, service.database, tenant, 'writer');
  const replace = (path: string, old_str: string, new_str: string) =>
    agent({ command: 'str_replace', path, old_str, new_str });
  await agent({ command: 'create', path: '/memories/plan.md', file_text: 'first\nsame\n' });
  await replace('/memories/plan.md', 'first', 'second');
  await agent({ command: 'rename', old_path: '/memories/plan.md', new_path: '/memories/done/plan.md' });
  await replace('/memories/done/plan.md', 'second', 'last');
  return tenant;
}

const side = (page: Page, title: string) => page.locator('.compared-side').filter({ hasText: title });
const changedLines = (page: Page, kind: 'removed' | 'added') =>
  page.locator(`.code-diff .cm-line.${kind}`).allTextContents();
const version = (page: Page, name: RegExp) =>
  page.getByRole('region', { name: 'Versions' }).getByRole('button', { name });

async function expectChange(page: Page, removed: string[], added: string[]): Promise<void> {
  await expect.poll(() => changedLines(page, 'removed')).toStrictEqual(removed);
  expect(await changedLines(page, 'added')).toStrictEqual(added);
}

describeConsole('the comparison between two versions in the console', (fixture) => {
  it("opens a comparison from a file's versions by keyboard, and returns to the file with Back", async () => {
    const tenant = await editedTenant(fixture());
    const page = await fixture().openSignedIn(`#/tenants/${tenant}?path=/memories/done/plan.md`);
    await page.getByRole('link', { name: 'History of the file' }).click();
    await version(page, /^modified done/).focus();
    await page.keyboard.press('Enter');
    await expectChange(page, ['second'], ['last']);

    await page.getByRole('button', { name: 'Compare with…' }).focus();
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Compare with which version?' });
    await expect.poll(() => dialog.locator('.version-row').count()).toBe(4);
    // A version cannot be compared with itself.
    expect(
      await dialog.locator('.version-row').evaluateAll((all) => all.map((row) => row.matches(':disabled'))),
    ).toStrictEqual([true, false, false, false]);
    await dialog.getByRole('button', { name: /^created/ }).focus();
    await page.keyboard.press('Enter');
    await expectChange(page, ['first'], ['last']);
    await expect.poll(() => side(page, 'From').textContent()).toContain('created by key writer');
    expect(await side(page, 'To').textContent()).toContain('modified by key writer');
    await page.getByRole('button', { name: 'Unified' }).click();
    await expect.poll(() => page.locator('.code-diff > .cm-editor .removed').count()).toBe(1);
    await expect.poll(() => page.title()).toBe(`plan.md · Two versions · ${tenant} · Memory console`);

    await page.goBack();
    await expectChange(page, ['second'], ['last']);
    await page.goBack();
    await expectChange(page, ['second'], ['last']);
    expect(new URL(page.url()).hash).not.toContain('version=');
    await page.goBack();
    await page.getByRole('heading', { name: 'done/plan.md' }).waitFor();
  });

  it('opens a comparison from a link, and then swaps and changes the compared versions', async () => {
    const tenant = await editedTenant(fixture());
    const rows = await fixture().service.query(
      `SELECT id FROM memory_versions WHERE tenant_id = $1 ORDER BY id`,
      [tenant],
    );
    const [created, , moved] = rows.map(({ id }) => String(id));
    const page = await fixture().openSignedIn(
      `#/tenants/${tenant}/history?version=${moved}&against=${created}`,
    );
    await expectChange(page, ['first'], ['second']);
    expect(await page.locator('.version-title .path-name').allTextContents()).toStrictEqual([
      'plan.md',
      'done/plan.md',
    ]);

    await page.getByRole('button', { name: 'Swap' }).click();
    await expectChange(page, ['second'], ['first']);
    await side(page, 'To').getByRole('button').click();
    await page
      .getByRole('dialog')
      .getByRole('button', { name: /^modified plan/ })
      .click();
    await page.getByText('Moved, with the same content.').waitFor();
    await page.getByRole('button', { name: 'Close the comparison' }).click();
    await page.getByRole('link', { name: 'See the memory then' }).waitFor();
    await expectChange(page, ['first'], ['second']);
  });

  it('compares two versions on a phone', async () => {
    const tenant = await editedTenant(fixture());
    const page = await fixture().openSignedIn(`#/tenants/${tenant}/history?path=/memories/done/plan.md`);
    await page.setViewportSize(PHONE);
    await version(page, /^created/).click();
    await page.getByRole('button', { name: 'Compare with…' }).click();
    await page
      .getByRole('dialog')
      .getByRole('button', { name: /^modified done/ })
      .click();
    await expectChange(page, ['last'], ['first']);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(PHONE.width);
    await page.getByRole('button', { name: 'Close the comparison' }).click();
    await page.getByRole('button', { name: 'Back to the versions' }).click();
    await version(page, /^created/).waitFor();
  });

  it('shows a message when a compared version was pruned', async () => {
    const tenant = await editedTenant(fixture());
    const gone = '01890000-0000-7000-8000-000000000000';
    const page = await fixture().openSignedIn(`#/tenants/${tenant}/history?path=/memories/done/plan.md`);
    await version(page, /^modified done/).click();
    await page.getByRole('button', { name: 'Compare with…' }).waitFor();
    await page.goto(`${page.url()}&against=${gone}`);
    await page.getByRole('alert').getByText('does not exist').waitFor();
    await page.getByRole('button', { name: 'Close the comparison' }).click();
    await expectChange(page, ['second'], ['last']);
  });
});
