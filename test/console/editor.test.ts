/** @module-tag long */
import { stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { describeConsole } from '../support/console-suite.ts';
import { readEditor } from '../support/read-editor.ts';
import { createAgent } from '../support/start-console.ts';

const ASSETS = 'console/dist/assets';
const EDITOR_CODE = /\/code-mirror-[^/]+\.js$/;

const editor = (page: Page) => page.getByLabel('Content of the file');
const focusedLabel = (page: Page) =>
  page.evaluate<string>(
    'document.activeElement.getAttribute("aria-label") ?? document.activeElement.textContent',
  );

describeConsole('the editor in the console', (fixture) => {
  async function tenantWith(path: string, content: string): Promise<string> {
    const { service, poisonedTenant } = fixture();
    const tenant = await poisonedTenant();
    const agent = await createAgent(service.app, service.database, tenant, 'writer');
    await agent({ command: 'create', path, file_text: content });
    return tenant;
  }

  async function readContent(tenant: string, path: string): Promise<unknown> {
    const [row] = await fixture().service.query(
      'SELECT content FROM entries WHERE tenant_id = $1 AND path = $2',
      [tenant, path],
    );
    return row?.content;
  }

  async function startEdit(tenant: string, path: string): Promise<Page> {
    const page = await fixture().openSignedIn(`#/tenants/${tenant}?path=${path}`);
    await page.getByRole('button', { name: 'Edit' }).click();
    await editor(page).waitFor();
    return page;
  }

  it("loads less than 100 KB at first, and the editor's code only when the user starts to edit", async () => {
    const { newContext, open, createKey, poisonedTenant } = fixture();
    const context = await newContext();
    const loaded: string[] = [];
    context.on('request', (request) => {
      const { pathname } = new URL(request.url());
      if (pathname.startsWith('/assets/')) loaded.push(pathname);
    });
    const page = await open(context, `#/tenants/${await poisonedTenant()}`);
    await page.getByLabel('Admin key').fill((await createKey()).key);
    await page.getByRole('button', { name: 'Sign in' }).click();
    const file = page.getByRole('treeitem', { name: 'refunds.md' });
    await file.waitFor();
    const sizes = loaded.map(async (name) => (await stat(join(ASSETS, `${basename(name)}.gz`))).size);
    const total = (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
    expect(total).toBeGreaterThan(50_000);
    expect(total).toBeLessThan(100_000);
    await file.click();
    await page.getByText('No approval is needed').waitFor();
    expect(loaded.filter((name) => EDITOR_CODE.test(name))).toStrictEqual([]);
    await page.getByRole('button', { name: 'Edit' }).click();
    await editor(page).waitFor();
    expect(loaded.filter((name) => EDITOR_CODE.test(name))).toHaveLength(1);
  });

  it('edits, searches, undoes, and saves by keyboard, and keeps the line endings', async () => {
    const path = '/memories/dos.md';
    const tenant = await tenantWith(path, 'one\r\n\ttwo\r\nthree\r\n');
    const page = await startEdit(tenant, path);
    expect(await focusedLabel(page)).toBe('Content of the file');
    await page.keyboard.press('Tab');
    expect(await focusedLabel(page)).toBe('Cancel');
    await page.keyboard.press('Shift+Tab');
    expect(await focusedLabel(page)).toBe('Content of the file');
    await page.keyboard.press('Control+f');
    expect(await focusedLabel(page)).toBe('Find');
    await page.keyboard.type('three');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Escape');
    expect(await focusedLabel(page)).toBe('Content of the file');
    // The match is selected. A new line starts with the white space that the line before starts with.
    await page.keyboard.type('3');
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('End');
    await page.keyboard.press('Enter');
    await page.keyboard.type('tabbed');
    expect(await readEditor(editor(page))).toBe('one\n\ttwo\n\ttabbed\n3\n');
    // In a slow browser, each keystroke is a separate undo step.
    for (let i = 0; i < 8; i++) await page.keyboard.press('Control+z');
    await page.getByText('No changes').waitFor();
    expect(await readEditor(editor(page))).toBe('one\n\ttwo\nthree\n');
    for (let i = 0; i < 8; i++) await page.keyboard.press('Control+y');
    await page.getByText('Unsaved changes').waitFor();
    await page.keyboard.press('Control+s');
    await page.getByText(`Saved ${path}.`).waitFor();
    expect(await readContent(tenant, path)).toBe('one\r\n\ttwo\r\n\ttabbed\r\n3\r\n');
  });

  it('saves the whole text of a long file after an edit at its end', async () => {
    const path = '/memories/long.md';
    const content = 'A line of a long file.\r\n'.repeat(40_000);
    const tenant = await tenantWith(path, content);
    const page = await startEdit(tenant, path);
    await page.keyboard.press('Control+End');
    await page.keyboard.type('The end.');
    await page.keyboard.press('Control+s');
    await page.getByText(`Saved ${path}.`).waitFor();
    expect((await readContent(tenant, path)) === `${content}The end.`).toBe(true);
  });

  it('shows invisible characters and keeps them in the file', async () => {
    const path = '/memories/hidden.md';
    const tenant = await tenantWith(path, 'a\u200Bb \u202Ec\u202C\n\u0001\n');
    const page = await startEdit(tenant, path);
    expect(await editor(page).locator('.hidden-character').allTextContents()).toStrictEqual([
      'U+200B',
      'U+202E',
      'U+202C',
      'U+0001',
    ]);
    await page.keyboard.press('Control+End');
    await page.keyboard.type('d');
    await page.keyboard.press('Control+s');
    await page.getByText(`Saved ${path}.`).waitFor();
    expect(await readContent(tenant, path)).toBe('a\u200Bb \u202Ec\u202C\n\u0001\nd');
  });

  it("closes only the editor's search on Escape, and keeps the dialog around the editor open", async () => {
    const page = await fixture().openSignedIn(`#/tenants/${await fixture().poisonedTenant()}`);
    await page.getByRole('button', { name: 'New file' }).click();
    const content = page.getByLabel('Content', { exact: true });
    await content.fill('typed');
    await content.press('Control+f');
    const field = page.getByRole('textbox', { name: 'Find', exact: true });
    await field.press('Escape');
    await expect.poll(() => field.count()).toBe(0);
    expect(await page.getByRole('dialog').count()).toBe(1);
    expect(await readEditor(content)).toBe('typed');
  });

  it("offers a plain text field if the editor's code cannot be loaded", async () => {
    const path = '/memories/style.md';
    const tenant = await fixture().poisonedTenant();
    const page = await fixture().openSignedIn(`#/tenants/${tenant}?path=${path}`);
    await page.route(EDITOR_CODE, (route) => route.abort());
    await page.getByRole('button', { name: 'Edit' }).click();
    await page.getByText('The editor could not be loaded.').waitFor();
    expect(await editor(page).inputValue()).toContain('# Tone\n');
    await editor(page).fill('plain\n');
    await editor(page).press('Control+s');
    await page.getByText(`Saved ${path}.`).waitFor();
    expect(await readContent(tenant, path)).toBe('plain\n');
  });
});
