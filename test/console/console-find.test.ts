/** @module-tag long */
import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { describeConsole } from '../support/console-suite.ts';
import { createAgent } from '../support/start-console.ts';
import { freshTenant } from '../support/test-service.ts';

const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name, exact: true });

async function findViolations(page: Page): Promise<unknown[]> {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate<axe.AxeResults>('axe.run()');
  return violations.map(({ id, nodes }) => [id, ...nodes.map(({ target }) => String(target))]);
}

describeConsole('long files and comparisons in the console', (fixture) => {
  /** Creates 110 files, of which three changed since, one moved, and one was deleted. Returns the time before that. */
  async function changedTenant() {
    const { service } = fixture();
    const tenant = freshTenant();
    await new Tenants(service.database).create(tenant);
    const agent = await createAgent(service.app, service.database, tenant, 'writer');
    const path = (i: number) => `/memories/notes/${String(i).padStart(3, '0')}.md`;
    for (let i = 0; i < 5; i++)
      await agent({ command: 'create', path: path(i), file_text: `Note ${i}\nBlue\n` });
    const [now] = await service.query(
      `SELECT to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS at`,
      [],
    );
    for (let i = 5; i < 110; i++)
      await agent({ command: 'create', path: path(i), file_text: `Note ${i}\n${'Green\n'.repeat(20)}` });
    for (const i of [0, 1, 2])
      await agent({ command: 'str_replace', path: path(i), old_str: 'Blue', new_str: 'Red' });
    await agent({ command: 'rename', old_path: path(3), new_path: '/memories/old/three.md' });
    await agent({ command: 'delete', path: path(4) });
    await agent({ command: 'insert', path: path(103), insert_line: 7, insert_text: 'A Needle here\n' });
    return { tenant, at: String(now?.at) };
  }

  it("lists a comparison's files by kind of change, and finds a line that is not on the screen", async () => {
    const { tenant, at } = await changedTenant();
    const page = await fixture().openSignedIn(`#/tenants/${tenant}/compare?at=${at}`);
    await page.getByText('110 files', { exact: true }).waitFor();
    const index = page.getByRole('region', { name: 'Changed files' });
    expect(
      await index.getByRole('group', { name: 'Kind of change' }).getByRole('button').allTextContents(),
    ).toStrictEqual(['All 110', 'added 105', 'modified 3', 'renamed 1', 'deleted 1']);
    await button(page, 'modified 3').click();
    await page.getByText('3 files', { exact: true }).waitFor();
    expect(await index.locator('.index-row').allTextContents()).toStrictEqual([
      'modified notes/000.md',
      'modified notes/001.md',
      'modified notes/002.md',
    ]);
    expect(page.url()).toContain('kind=modified');
    await button(page, 'renamed 1').click();
    await expect
      .poll(() => index.locator('.index-row').allTextContents())
      .toStrictEqual(['renamed notes/003.md → old/three.md']);
    await button(page, 'All 110').click();
    const differences = page.getByRole('region', { name: 'Differences' });

    await page.keyboard.press('Control+f');
    const field = page.getByRole('searchbox', { name: 'Find in the differences' });
    expect(await field.evaluate((element) => element.matches(':focus'))).toBe(true);
    await field.fill('needle');
    await page.getByText('1 of 1', { exact: true }).waitFor();
    await differences.locator('mark', { hasText: 'Needle' }).waitFor();
    await field.fill('red');
    await page.getByText('1 of 3', { exact: true }).waitFor();
    for (const _ of [1, 2, 3]) await page.keyboard.press('Enter');
    await page.keyboard.press('Shift+Enter');
    await page.getByText('3 of 3', { exact: true }).waitFor();
    await expect.poll(() => differences.locator('.current mark').allTextContents()).toStrictEqual(['Red']);
    expect(await findViolations(page)).toStrictEqual([]);
    await page.keyboard.press('Escape');
    await expect.poll(() => field.count()).toBe(0);
    // The file list scrolls to a file.
    await button(page, 'added 105').click();
    await index.getByRole('group', { name: 'Files' }).focus();
    await page.keyboard.press('End');
    await index.getByRole('button').filter({ hasText: '109.md' }).click();
    await differences.getByRole('button').filter({ hasText: '109.md' }).waitFor();
  });

  it('finds a line in a long file after Ctrl+F', async () => {
    const { service, openSignedIn } = fixture();
    const tenant = freshTenant();
    await new Tenants(service.database).create(tenant);
    const agent = await createAgent(service.app, service.database, tenant, 'writer');
    const lines = Array.from({ length: 3000 }, (_, i) => (i === 2500 ? 'the needle' : `line ${i}`));
    await agent({ command: 'create', path: '/memories/long.md', file_text: lines.join('\n') });
    const page = await openSignedIn(`#/tenants/${tenant}?path=/memories/long.md`);
    await page.getByText('line 0', { exact: true }).waitFor();
    // The field has the focus before the next frame and any further input.
    const focused = await page.evaluate(`(async () => {
      dispatchEvent(new KeyboardEvent('keydown', { key: 'f', ctrlKey: true }));
      for (let i = 0; i < 20; i++) await null;
      return document.activeElement.ariaLabel;
    })()`);
    expect(focused).toBe('Find in the file');
    await page.keyboard.type('NEEDLE');
    await page.getByText('1 of 1', { exact: true }).waitFor();
    await expect.poll(() => page.locator('.lines .cm-line.current').textContent()).toBe('the needle');
    await page.locator('.cm-lineNumbers').getByText('2501', { exact: true }).waitFor();
    await page.keyboard.type('s');
    await page.getByText('No match', { exact: true }).waitFor();
  });
});
