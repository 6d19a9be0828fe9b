/** @module-tag long */
import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { Tenants } from '../../src/tenants/tenants.ts';
import { entry } from '../support/archives.ts';
import { describeConsole } from '../support/console-suite.ts';
import { freshTenant } from '../support/service.ts';

const FILES = 10_000;
/** Tells of each state of the progress bar. */
const WATCH_PROGRESS = `new MutationObserver(() => {
  const bar = document.querySelector('progress');
  if (bar !== null) noteProgress(bar.ariaLabel, bar.position);
}).observe(document.body, { subtree: true, childList: true, attributes: true })`;
const name = (i: number) => `file-${String(i).padStart(5, '0')}.md`;

describeConsole('export and import in the console', (fixture) => {
  it('imports 10,000 files, shows them, and exports them again', async () => {
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
    await page.getByText(/^Imported 10,000 files/).waitFor({ timeout: 120_000 });
    for (const { position } of shown) expect(position).toBeGreaterThanOrEqual(0);
    const steps = [/^Uploading and checking [\d.]+ [KM]?B of 9.8 MB$/, /^Writing [\d,]+ of 10,000 files$/];
    for (const step of steps)
      expect(shown.map(({ what }) => what)).toContainEqual(expect.stringMatching(step));

    await page.getByRole('link', { name: 'Memory', exact: true }).click();
    await page.getByText('10,000 files', { exact: true }).waitFor();
    const rows = page.getByRole('treeitem');
    await rows.filter({ hasText: name(0) }).waitFor();
    const tree = page.getByRole('tree');
    await tree.focus();
    await tree.press('End');
    await rows.filter({ hasText: name(FILES - 1) }).waitFor();
    expect(await rows.count()).toBeLessThan(100);

    await page.getByRole('link', { name: 'Settings' }).click();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Export' }).click(),
    ]);
    expect(download.suggestedFilename()).toBe(`${tenant}.tar`);
    const exported = await readFile(await download.path());
    expect(exported.includes(name(FILES - 1))).toBe(true);
  });

  it('says why an import is refused, and imports nothing', async () => {
    const tenant = await fixture().poisonedTenant();
    const page = await fixture().openSignedIn(`#/tenants/${tenant}/settings`);
    const archive = Buffer.concat([entry({ name: 'memories/style.md', content: 'x' }), Buffer.alloc(1024)]);
    await page
      .getByLabel('Archive to import')
      .setInputFiles({ name: 'memory.tar', mimeType: 'application/x-tar', buffer: archive });
    expect(await page.getByRole('alert').textContent()).toContain('/memories/style.md');
  });
});
