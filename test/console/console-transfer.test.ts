/** @module-tag long */
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { describeConsole } from '../support/console-suite.ts';
import { entry } from '../support/create-archive.ts';
import { freshTenant } from '../support/test-service.ts';

const FILES = 10_000;
/** Reports each state that the progress bar shows. */
const WATCH_PROGRESS = `new MutationObserver(() => {
  const bar = document.querySelector('progress');
  if (bar !== null) noteProgress(bar.ariaLabel, bar.position);
}).observe(document.body, { subtree: true, childList: true, attributes: true })`;
const name = (i: number) => `file-${String(i).padStart(5, '0')}.md`;

/** Confirms the preview for an import. */
const confirm = (page: Page, verb: 'Import' | 'Upload') =>
  page.getByRole('dialog').getByRole('button', { name: verb, exact: true }).click();

describeConsole('export and import in the console', (fixture) => {
  it('imports 10,000 files, displays them, and exports them again', async () => {
    const { service, openSignedIn } = fixture();
    const tenant = freshTenant();
    await new Tenants(service.database).create(tenant);
    const page = await openSignedIn(`#/tenants/${tenant}/settings`);
    const files = Array.from({ length: FILES }, (_, i) =>
      entry({ name: `memories/${name(i)}`, content: `${i}\n` }),
    );
    const archive = Buffer.concat([...files, Buffer.alloc(1024)]);
    const shown: { what: string; position: number }[] = [];
    await page.exposeFunction('noteProgress', (what: string, position: number) =>
      shown.push({ what, position }),
    );
    await page.evaluate(WATCH_PROGRESS);
    await page
      .getByLabel('Archive to import')
      .setInputFiles({ name: 'memory.tar', mimeType: 'application/x-tar', buffer: archive });
    const dialog = page.getByRole('dialog', { name: 'Import an archive' });
    await dialog.getByText('10,000 files (47.7 KB) will be added.').waitFor();
    await dialog.getByText(name(0)).waitFor();
    expect((await new Tenants(service.database).find(tenant))?.files).toBe(0);
    await confirm(page, 'Import');
    await page.getByText(/^Imported 10,000 files/).waitFor({ timeout: 120_000 });
    for (const { position } of shown) expect(position).toBeGreaterThanOrEqual(0);
    const steps = [/^Uploading and checking [\d.]+ [KM]?B of 9.8 MB$/, /^Writing [\d,]+ of 10,000 files$/];
    for (const step of steps)
      expect(shown.map(({ what }) => what)).toContainEqual(expect.stringMatching(step));

    await page.getByRole('link', { name: 'Memory', exact: true }).click();
    await page.getByText('10,000 files', { exact: true }).waitFor();
    const rows = page.getByRole('treeitem');
    await rows.filter({ hasText: name(0) }).waitFor();

    await page.getByRole('link', { name: 'Settings' }).click();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Export' }).click(),
    ]);
    expect(download.suggestedFilename()).toBe(`${tenant}.tar`);
    const exported = await readFile(await download.path());
    expect(exported.includes(name(FILES - 1))).toBe(true);
  });

  it('explains why an import is rejected, and imports no file', async () => {
    const tenant = await fixture().poisonedTenant();
    const page = await fixture().openSignedIn(`#/tenants/${tenant}/settings`);
    const archive = Buffer.concat([entry({ name: 'memories/style.md', content: 'x' }), Buffer.alloc(1024)]);
    await page
      .getByLabel('Archive to import')
      .setInputFiles({ name: 'memory.tar', mimeType: 'application/x-tar', buffer: archive });
    expect(await page.getByRole('alert').textContent()).toContain('/memories/style.md');
    expect(await page.getByRole('button', { name: 'Import', exact: true }).isDisabled()).toBe(true);
  });

  it('exports a memory with the history, and imports both into another tenant', async () => {
    const { service, openSignedIn } = fixture();
    const tenant = await fixture().poisonedTenant();
    const page = await openSignedIn(`#/tenants/${tenant}/settings`);
    await page.getByLabel('With the history').check();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Export' }).click(),
    ]);
    const other = freshTenant();
    await new Tenants(service.database).create(other);
    await page.goto(`${fixture().url}/#/tenants/${other}/settings`);
    await page.getByRole('heading', { name: other }).waitFor();
    await page.getByLabel('Archive to import').setInputFiles(await download.path());
    await page.getByText(/^9 files \(.*\) will be added, with a history of \d+ versions\.$/).waitFor();
    await confirm(page, 'Import');
    await page.getByText(/^Imported 9 files/).waitFor();
    const [row] = await service.query('SELECT history_versions FROM tenants WHERE id = $1', [other]);
    expect(Number(row?.history_versions)).toBeGreaterThan(5);
  });

  it('uploads files and a directory into a directory, and downloads that directory', async () => {
    const tenant = await fixture().poisonedTenant();
    const page = await fixture().openSignedIn(`#/tenants/${tenant}?path=/memories/customers`);
    const directory = await mkdtemp(join(tmpdir(), 'console-upload-'));
    const long = `${'n'.repeat(150)}.md`;
    await mkdir(join(directory, 'notes', 'deep'), { recursive: true });
    await writeFile(join(directory, 'notes', 'deep', long), 'été\n');
    await writeFile(join(directory, 'notes', '.DS_Store'), Buffer.from([0xff, 0]));
    await writeFile(join(directory, 'plain.md'), 'plain\n');
    await page.getByLabel('Directory to upload').setInputFiles(join(directory, 'notes'));
    await confirm(page, 'Upload');
    await page.getByText('Uploaded 1 file (6 B).').waitFor();
    const content = (path: string) =>
      fixture().service.query('SELECT content FROM entries WHERE tenant_id = $1 AND path = $2', [
        tenant,
        path,
      ]);
    const deep = `/memories/customers/notes/deep/${long}`;
    expect(await content(deep)).toStrictEqual([{ content: 'été\n' }]);
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByText('Undone: 1 file deleted').waitFor();
    expect(await content(deep)).toStrictEqual([]);
    await page.getByLabel('Files to upload').setInputFiles(join(directory, 'plain.md'));
    await page.getByRole('dialog').getByRole('listitem').filter({ hasText: 'plain.md' }).waitFor();
    await confirm(page, 'Upload');
    await page.getByRole('treeitem', { name: 'plain.md' }).waitFor();
    await page.getByText('Uploaded 1 file (6 B).').waitFor();
    expect(await content('/memories/customers/plain.md')).toStrictEqual([{ content: 'plain\n' }]);

    // An upload with an existing file replaces and adds no file.
    await page.getByLabel('Files to upload').setInputFiles(join(directory, 'plain.md'));
    await page.getByRole('alert').getByText('/memories/customers/plain.md').waitFor();
    await page.getByRole('button', { name: 'Cancel' }).click();

    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download' }).click(),
    ]);
    expect(download.suggestedFilename()).toBe('customers.tar');
    const archive = await readFile(await download.path());
    for (const part of ['memories/customers/lee.md', 'plain.md']) expect(archive.includes(part)).toBe(true);
    for (const part of [long, 'refunds.md']) expect(archive.includes(part)).toBe(false);
    await rm(directory, { recursive: true });
  });
});
