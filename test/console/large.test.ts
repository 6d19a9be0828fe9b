/** @module-tag long */
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { describeConsole } from '../support/console-suite.ts';
import { createAgent } from '../support/start-console.ts';
import { freshTenant } from '../support/test-service.ts';

const FILES = 3000;
const name = (i: number) => `file-${String(i).padStart(4, '0')}.md`;

describeConsole('a large memory in the console', (fixture) => {
  /** Creates files in the directory `flat` with a time two hours ago, and ten directories beside it. */
  async function largeTenant(): Promise<string> {
    const { service } = fixture();
    const tenant = freshTenant();
    await new Tenants(service.database).create(tenant);
    const insertDirectories = (paths: string) =>
      service.query(
        `INSERT INTO entries (tenant_id, path, parent_path, kind, changed_at)
         SELECT $1, p, memory_parent(p), 'dir', now() - interval '2 hours' FROM ${paths} ON CONFLICT DO NOTHING`,
        [tenant],
      );
    await insertDirectories(`(VALUES ('/memories')) AS v (p)`);
    await insertDirectories(`(VALUES ('/memories/flat')) AS v (p)`);
    await insertDirectories(`(SELECT '/memories/dir-' || i FROM generate_series(0, 9) AS i) AS v (p)`);
    await service.query(
      `INSERT INTO entries (tenant_id, path, parent_path, kind, content, version, memory_id, operation, changed_at)
       SELECT $1, '/memories/flat/file-' || lpad(i::text, 4, '0') || '.md', '/memories/flat', 'file', 'ten bytes.',
         memory_version_id(memory_id_prefix(now() - interval '2 hours'), gen_random_uuid()), gen_random_uuid(),
         'created', now() - interval '2 hours'
       FROM generate_series(0, ${FILES - 1}) AS i`,
      [tenant],
    );
    await service.query(
      `UPDATE tenants SET file_count = ${FILES}, byte_count = ${10 * FILES}, last_change_at = now() - interval '2 hours',
         created_at = now() - interval '3 hours', history_since = now() - interval '3 hours' WHERE id = $1`,
      [tenant],
    );
    await service.query('SELECT memory_bind_root($1)', [tenant]);
    return tenant;
  }

  /** Records the directories that the page requests from now on. */
  function listings(page: Page): string[] {
    const seen: string[] = [];
    page.on('request', (request) => {
      const { pathname, searchParams } = new URL(request.url());
      if (/\/(directory|tree)$/.test(pathname)) seen.push(searchParams.get('path') ?? '');
    });
    return seen;
  }

  const row = (page: Page, text: string) => page.getByRole('treeitem').filter({ hasText: text });

  it.each(['now', 'the past'])('loads a directory page by page when it is opened: %s', async (when) => {
    const tenant = await largeTenant();
    const page = await fixture().openSignedIn('');
    const seen = listings(page);
    const at = when === 'now' ? '' : `?at=${new Date(Date.now() - 3_600_000).toISOString()}`;
    await page.goto(`${fixture().url}/#/tenants/${tenant}${at}`);
    await row(page, 'flat').getByText('29.3 KB').waitFor();
    await page.getByText('3,000 files', { exact: true }).waitFor();
    expect(seen).toStrictEqual(['/memories']);

    await row(page, 'flat').click();
    await row(page, name(0)).waitFor();
    expect(seen).toStrictEqual(['/memories', '/memories/flat']);
    const tree = page.getByRole('tree');
    await tree.focus();
    // The end of the loaded entries moves with each page.
    await expect
      .poll(async () => {
        await tree.press('End');
        return row(page, name(FILES - 1)).count();
      })
      .toBe(1);
    // The root, six full pages of 500 entries, and an empty page.
    await expect.poll(() => seen.length).toBe(8);
    await row(page, name(FILES - 1)).waitFor();
    expect(await page.getByRole('treeitem').count()).toBeLessThan(100);
  });

  it('shows the file from a link in the tree without loading the entries before it', async () => {
    const tenant = await largeTenant();
    const page = await fixture().openSignedIn('');
    const seen = listings(page);
    await page.goto(`${fixture().url}/#/tenants/${tenant}?path=/memories/flat/${name(2500)}`);
    const selected = page.getByRole('treeitem', { selected: true });
    await expect.poll(() => selected.getAttribute('title')).toBe(`/memories/flat/${name(2500)}`);
    await expect.poll(() => selected.isVisible()).toBe(true);
    await row(page, name(2501)).waitFor();
    expect(seen.sort()).toStrictEqual(['/memories', '/memories/flat', '/memories/flat']);

    // The entries between the two parts are loaded on request.
    const more = row(page, 'Show more before the next');
    await more.click();
    await expect.poll(() => seen.length).toBe(4);
  });

  it('shows the directory from a link in the tree even if many directories precede it', async () => {
    const tenant = await largeTenant();
    const { service } = fixture();
    await service.query(
      `INSERT INTO entries (tenant_id, path, parent_path, kind, changed_at)
       SELECT $1, '/memories/later-' || lpad(i::text, 4, '0'), '/memories', 'dir', now() FROM generate_series(0, 999) AS i`,
      [tenant],
    );
    const agent = await createAgent(service.app, service.database, tenant, 'writer');
    const directory = '/memories/later-0800';
    await agent({ command: 'create', path: `${directory}/below/note.md`, file_text: 'found\n' });
    const page = await fixture().openSignedIn(`#/tenants/${tenant}?path=${directory}/below/note.md`);
    const selected = page.getByRole('treeitem', { selected: true });
    await expect.poll(() => selected.getAttribute('title')).toBe(`${directory}/below/note.md`);
    await row(page, 'later-0800').waitFor();
    await row(page, 'later-0801').waitFor();
    await page.getByText('found').waitFor();

    await page.goto(`${fixture().url}/?directory#/tenants/${tenant}?path=/memories/later-0900`);
    await page.getByRole('button', { name: 'Upload a directory…' }).waitFor();
    await expect.poll(() => selected.getAttribute('title')).toBe('/memories/later-0900');
  });
});
