/** @module-tag long */
import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { flushReads, reader, tenantWith } from '../reads/read-trail.ts';
import { describeConsole, signIn } from '../support/console-suite.ts';
import { readEditor } from '../support/read-editor.ts';
import { createAgent } from '../support/start-console.ts';

const openFile = async (page: Page, name: string) => {
  await page.getByRole('treeitem', { name }).click();
  await page.getByRole('heading', { name, level: 2 }).waitFor();
};
const lines = (page: Page) => page.locator('.lines .cm-line').allTextContents();

describeConsole('the memory in the console', (fixture) => {
  it('opens directories and files in the tree by mouse and by keyboard', async () => {
    const page = await fixture().openSignedIn(`#/tenants/${await fixture().poisonedTenant()}`);
    await openFile(page, 'taxes.md');
    await expect
      .poll(() => lines(page))
      .toStrictEqual(['# Taxes', '', '- FR 20 %', '- DE 19 %', '- ES 21 %', '- PT 23 %']);

    const tree = page.getByRole('tree');
    await tree.focus();
    await tree.press('Home');
    await tree.press('ArrowLeft');
    await expect.poll(() => page.getByRole('treeitem', { name: 'taxes.md' }).count()).toBe(0);
    await tree.press('ArrowRight');
    await tree.press('ArrowDown');
    await tree.press('Enter');
    await page.getByRole('heading', { name: 'billing/invoices.md' }).waitFor();
  });

  it('shows how often a file was read, while the read trail is on', async () => {
    const { service, openSignedIn } = fixture();
    const files = { '/memories/known.md': 'one', '/memories/other.md': 'two' };
    const tenant = await tenantWith(service, files, { readLogDays: 30 });
    for (const label of ['laptop', 'phone']) {
      const { view } = await reader(service, { tenant, label });
      await view('toolu_1', '/memories/known.md');
      await view('toolu_2', '/memories/known.md');
    }
    await flushReads(service);
    const page = await openSignedIn(`#/tenants/${tenant}?path=/memories/known.md`);
    await page.getByText('read 4 times in 7 days by 2 actors, last ').waitFor();
    await openFile(page, 'other.md');
    await page.getByText('no reads in 30 days').waitFor();
    await service.query('UPDATE tenants SET read_log_days = 0 WHERE id = $1', [tenant]);
    await openFile(page, 'known.md');
    await page.getByText('3 B').first().waitFor();
    await expect.poll(() => page.getByText(/reads? .*days/).count()).toBe(0);
  });

  it('renders Markdown on request', async () => {
    const page = await fixture().openSignedIn(`#/tenants/${await fixture().poisonedTenant()}`);
    await openFile(page, 'refunds.md');
    await page.getByRole('button', { name: 'Markdown' }).click();
    await page.getByRole('heading', { name: 'Approvals' }).waitFor();
    expect(await page.getByRole('cell', { name: 'team lead' }).count()).toBe(1);
  });

  it('renders a long Markdown file on request, but only the part that is on the screen', async () => {
    const { service, poisonedTenant, openSignedIn } = fixture();
    const tenant = await poisonedTenant();
    const agent = await createAgent(service.app, service.database, tenant, 'author');
    const tables = '| a | b |\n| --- | --- |\n| 1 | 2 |\n\n'.repeat(29_000);
    await agent({ command: 'create', path: '/memories/tables.md', file_text: `${tables}The end.\n` });
    await agent({ command: 'create', path: '/memories/deep.md', file_text: `${'> '.repeat(3000)}a\n` });
    const page = await openSignedIn(`#/tenants/${tenant}?path=/memories/tables.md`);
    await page.getByRole('button', { name: 'Markdown' }).click();
    await page.getByText(/^This file has 9\d\d KB$/).waitFor();
    expect(await page.getByRole('table').count()).toBe(0);
    await page.getByRole('button', { name: 'Render anyway' }).click();
    await page.getByRole('table').first().waitFor();
    const rendered = await page.getByRole('table').count();
    expect(rendered).toBeLessThan(1000);
    const article = page.locator('article.markdown');
    await article.focus();
    await page.keyboard.press('End');
    await expect.poll(() => page.getByRole('table').count()).toBeGreaterThan(rendered);

    await openFile(page, 'deep.md');
    await page.getByRole('button', { name: 'Markdown' }).click();
    await page.getByText('This file is nested too deeply to be rendered as Markdown').waitFor();
  });

  it("links to a file's history if the file does not exist", async () => {
    const tenant = await fixture().poisonedTenant();
    const place = `#/tenants/${tenant}?path=/memories/instructions.md`;
    const page = await fixture().openSignedIn(place);
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByText('Deleted /memories/instructions.md.').waitFor();
    await page.goto(`${fixture().url}/${place}`);
    await page.getByText('This file does not exist').waitFor();
    await page.getByRole('link', { name: 'History of the file' }).click();
    await page.getByRole('button', { name: /^deleted instructions\.md/ }).waitFor();
  });

  it('shows whether each item in a Markdown task list is done', async () => {
    const tenant = await fixture().poisonedTenant();
    const { service } = fixture();
    const agent = await createAgent(service.app, service.database, tenant, 'planner');
    await agent({ command: 'create', path: '/memories/tasks.md', file_text: '- [x] ship\n- [ ] rest\n' });
    const page = await fixture().openSignedIn(`#/tenants/${tenant}?path=/memories/tasks.md`);
    await page.getByRole('button', { name: 'Markdown' }).click();
    await expect
      .poll(() => page.getByRole('article').getByRole('listitem').allTextContents())
      .toStrictEqual(['☑ ship', '☐ rest']);
  });

  it('names the page, the file, and the tenant in the document title', async () => {
    const tenant = await fixture().poisonedTenant();
    const page = await fixture().open(await fixture().newContext());
    await expect.poll(() => page.title()).toBe('Sign in · Memory console');
    await signIn(page, (await fixture().createKey()).key);
    const titles: [string, string][] = [
      ['', 'Tenants · Memory console'],
      ['keys', 'Keys · Memory console'],
      [`tenants/${tenant}`, `Memory · ${tenant} · Memory console`],
      [`tenants/${tenant}?path=/memories/billing/taxes.md`, `taxes.md · ${tenant} · Memory console`],
      [`tenants/${tenant}/history`, `History · ${tenant} · Memory console`],
      [`tenants/${tenant}/compare`, `Compare · ${tenant} · Memory console`],
      [`tenants/${tenant}/settings`, `Settings · ${tenant} · Memory console`],
      ['nowhere', 'Not found · Memory console'],
    ];
    for (const [place, title] of titles) {
      await page.goto(`${fixture().url}/#/${place}`);
      await expect.poll(() => page.title()).toBe(title);
    }
  });

  it('finds files by name or content, and opens a file at the matching line', async () => {
    const page = await fixture().openSignedIn(`#/tenants/${await fixture().poisonedTenant()}`);
    const search = page.getByLabel('Search names and contents');
    await search.fill('okaf');
    await page.getByRole('button', { name: 'customers/okafor.md' }).first().waitFor();
    await search.fill('xylophone');
    await page.getByText('Nothing found').waitFor();
    await search.fill('900 eur');
    await page.getByRole('button', { name: /customers\/lee\.md/ }).click();
    await expect
      .poll(() => page.locator('.lines .cm-line.current').textContent())
      .toBe('- Got a refund of 900 EUR');
  });

  it('reports the number of matching files that are not displayed', async () => {
    const { service, openSignedIn, poisonedTenant } = fixture();
    const tenant = await poisonedTenant();
    const agent = await createAgent(service.app, service.database, tenant, 'zoologist');
    for (let i = 0; i < 102; i++) {
      await agent({ command: 'create', path: `/memories/z/${i}.md`, file_text: 'A zebra.\n' });
    }
    const page = await openSignedIn(`#/tenants/${tenant}`);
    await page.getByLabel('Search names and contents').fill('zebra');
    await page.getByText('Also found in 2 more files.').waitFor();
  });

  it('creates, edits, downloads, and deletes a file', async () => {
    const page = await fixture().openSignedIn(`#/tenants/${await fixture().poisonedTenant()}`);
    await page.getByRole('button', { name: 'New file' }).click();
    await page.getByLabel('Path').fill('/memories/notes/today.md');
    await page.getByLabel('Content', { exact: true }).fill('one\n');
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('heading', { name: 'notes/today.md' }).waitFor();

    await page.getByRole('button', { name: 'Edit' }).click();
    await page.getByLabel('Content of the file').fill('one\ntwo\n');
    await page.getByLabel('Content of the file').press('Control+s');
    await expect.poll(() => lines(page)).toStrictEqual(['one', 'two']);

    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download' }).click(),
    ]);
    expect(download.suggestedFilename()).toBe('today.md');
    expect(await readFile(await download.path(), 'utf8')).toBe('one\ntwo\n');

    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await expect.poll(() => page.getByRole('treeitem', { name: 'today.md' }).count()).toBe(0);
  });

  it('preserves line endings and the byte order mark when a file is edited', async () => {
    const tenant = await fixture().poisonedTenant();
    const { service } = fixture();
    const agent = await createAgent(service.app, service.database, tenant, 'windows');
    await agent({ command: 'create', path: '/memories/dos.txt', file_text: '\uFEFFone\r\ntwo\r\n' });
    const page = await fixture().openSignedIn(`#/tenants/${tenant}`);
    await openFile(page, 'dos.txt');
    await page.getByRole('button', { name: 'Edit' }).click();
    await page.getByLabel('Content of the file').press('Control+End');
    await page.keyboard.type('three');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved /memories/dos.txt.').waitFor();
    const rows = await service.query('SELECT content FROM entries WHERE tenant_id = $1 AND path = $2', [
      tenant,
      '/memories/dos.txt',
    ]);
    expect(rows).toStrictEqual([{ content: '\uFEFFone\r\ntwo\r\nthree' }]);
  });

  it('shows a conflict after two tabs edit a file, and merges both edits on request', async () => {
    const place = `#/tenants/${await fixture().poisonedTenant()}?path=/memories/billing/taxes.md`;
    const [first, second] = [await fixture().openSignedIn(place), await fixture().openSignedIn(place)];
    for (const page of [first, second]) await page.getByRole('button', { name: 'Edit' }).click();
    const text = '# Taxes\n\n- FR 20 %\n- DE 19 %\n- ES 21 %\n- PT 23 %\n';
    await first.getByLabel('Content of the file').fill(text.replace('FR 20', 'FR 21'));
    await first.getByRole('button', { name: 'Save' }).click();
    await first.getByText('Saved /memories/billing/taxes.md.').waitFor();

    await second.getByLabel('Content of the file').fill(`${text}- IT 22 %\n`);
    await second.getByRole('button', { name: 'Save' }).click();
    await second.getByText('This file was changed while you edited it.').waitFor();
    await second.getByRole('button', { name: 'Merge both' }).click();
    expect(await readEditor(second.getByLabel('Content of the file'))).toBe(
      `${text.replace('FR 20', 'FR 21')}- IT 22 %\n`,
    );
    await second.getByRole('button', { name: 'Save' }).click();
    await expect.poll(() => lines(second)).toContain('- IT 22 %');
    expect(await lines(second)).toContain('- FR 21 %');
  });

  it('shows a conflict after two edits to one line, and overwrites the other edit only on request', async () => {
    const place = `#/tenants/${await fixture().poisonedTenant()}?path=/memories/instructions.md`;
    const [first, second] = [await fixture().openSignedIn(place), await fixture().openSignedIn(place)];
    for (const page of [first, second]) await page.getByRole('button', { name: 'Edit' }).click();
    await first.getByLabel('Content of the file').fill('first\n');
    await first.getByRole('button', { name: 'Save' }).click();
    await first.getByText('Saved /memories/instructions.md.').waitFor();
    await second.getByLabel('Content of the file').fill('second\n');
    await second.getByRole('button', { name: 'Save' }).click();
    await second.getByRole('button', { name: 'Keep mine' }).waitFor();
    expect(await second.getByRole('button', { name: 'Merge both' }).count()).toBe(0);
    await first.reload();
    await expect.poll(() => lines(first)).toStrictEqual(['first']);
    await second.getByRole('button', { name: 'Keep mine' }).click();
    await second.getByRole('button', { name: 'Save' }).click();
    await expect.poll(() => lines(second)).toStrictEqual(['second']);
  });
});
