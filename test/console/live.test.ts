/** @module-tag long */
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { FleetLog } from '../../src/features/feed/fleet-log.ts';
import { describeConsole } from '../support/console-suite.ts';
import { createAgent } from '../support/start-console.ts';
import { freshTenant, startService } from '../support/test-service.ts';

const create = (name: string, file_text = 'text\n') => ({
  command: 'create',
  path: `/memories/${name}`,
  file_text,
});

describeConsole(
  'changes by agents in open console pages',
  (fixture) => {
    const newAgent = async (tenant: string) => {
      const { app, database } = fixture().service;
      return createAgent(app, database, tenant, 'agent');
    };
    const files = (page: Page) => page.getByRole('treeitem').locator('.tree-name').allTextContents();
    const firstVersion = (page: Page) => page.locator('.version-path').first().textContent();

    it('shows a new file in the tree, the last changes, and the number of files', async () => {
      const tenant = await fixture().poisonedTenant();
      const page = await fixture().openSignedIn(`#/tenants/${tenant}`);
      await page.getByRole('treeitem', { name: 'style.md' }).waitFor();
      const before = await files(page);
      const agent = await newAgent(tenant);
      await agent(create('zzz.md'));
      await expect.poll(() => files(page)).toStrictEqual([...before, 'zzz.md']);
      const last = page.getByRole('region', { name: 'Last changes' }).locator('li').first();
      await expect.poll(() => last.textContent()).toMatch(/^createdzzz\.md/);
      await expect.poll(() => page.locator('.pane-foot').textContent()).toBe('10 files');
    });

    it('shows the new content of an open file, and keeps unsaved edits to it', async () => {
      const tenant = await fixture().poisonedTenant();
      const page = await fixture().openSignedIn(`#/tenants/${tenant}?path=/memories/style.md`);
      const lines = page.locator('.lines .cm-line');
      await expect.poll(() => lines.first().textContent()).toBe('# Tone');
      const agent = await newAgent(tenant);
      const edit = (old_str: string, new_str: string) =>
        agent({ command: 'str_replace', path: '/memories/style.md', old_str, new_str });
      await edit('# Tone', '# Voice');
      await expect.poll(() => lines.first().textContent()).toBe('# Voice');
      await page.getByRole('button', { name: 'Edit' }).click();
      const editor = page.getByRole('textbox', { name: 'Content of the file' });
      await editor.pressSequentially('Mine. ');
      await edit('# Voice', '# Manner');
      await agent(create('signal.md'));
      await page.getByRole('treeitem', { name: 'signal.md' }).waitFor();
      await page.getByText('Unsaved changes').waitFor();
      expect(await editor.textContent()).toContain('Mine. # Voice');
    });

    it('adds a version to the history, and keeps the scroll position', async () => {
      const tenant = freshTenant();
      await new Tenants(fixture().service.database).create(tenant);
      const agent = await newAgent(tenant);
      for (let i = 0; i < 40; i++) await agent(create(`f${i}`));
      const page = await fixture().openSignedIn(`#/tenants/${tenant}/history`);
      await expect.poll(() => firstVersion(page)).toBe('f39');
      await agent(create('live.md'));
      await expect.poll(() => firstVersion(page)).toBe('live.md');

      const list = page.getByRole('group', { name: 'Versions' });
      const row = page.getByRole('button', { name: /^created f20 / });
      await list.evaluate((element) => element.scrollTo(0, 1000));
      await row.waitFor();
      const before = await row.boundingBox();
      await agent(create('below.md'));
      await expect.poll(() => list.evaluate((element) => element.scrollTop)).toBeGreaterThan(1050);
      await expect.poll(async () => (await row.boundingBox())?.y).toBe(before?.y);
      await list.evaluate((element) => element.scrollTo(0, 0));
      await expect.poll(() => firstVersion(page)).toBe('below.md');
    });

    it("updates the overview's numbers", async () => {
      await new FleetLog(fixture().service.database).maintain(7);
      const tenant = await fixture().poisonedTenant();
      const page = await fixture().openSignedIn('#/overview');
      const number = page.locator('.totals .card').filter({ hasText: 'Files' }).locator('dd');
      const before = Number(await number.textContent());
      const agent = await newAgent(tenant);
      await agent(create('live.md'));
      await expect.poll(() => number.textContent()).toBe(String(before + 1));
    });

    it('closes the stream while the page is hidden, and catches up when the page is shown', async () => {
      const tenant = await fixture().poisonedTenant();
      const page = await fixture().openSignedIn(`#/tenants/${tenant}`);
      await page.getByRole('treeitem', { name: 'style.md' }).waitFor();
      const setHidden = (isHidden: boolean) =>
        page.evaluate(
          `Object.defineProperty(document, 'visibilityState',
             { value: '${isHidden ? 'hidden' : 'visible'}', configurable: true });
           document.dispatchEvent(new Event('visibilitychange', { bubbles: true }));`,
        );
      const aborted = page.waitForEvent('requestfailed', (request) => request.url().includes('/changes'));
      await setHidden(true);
      await aborted;
      const agent = await newAgent(tenant);
      await agent(create('missed.md'));
      await setHidden(false);
      await page.getByRole('treeitem', { name: 'missed.md' }).waitFor();
    });
  },
  startService,
);
