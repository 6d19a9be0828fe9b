/** @module-tag long */
import type { Locator, Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { type ConsoleFixture, describeConsole } from '../support/console-suite.ts';
import { entry } from '../support/create-archive.ts';
import { runJobs } from '../support/run-jobs.ts';
import { createAgent } from '../support/start-console.ts';
import { freshTenant, startService } from '../support/test-service.ts';
import { proposeDraft } from './draft-scenario.ts';

const ARCHIVE = Buffer.concat([entry({ name: 'memories/new.md', content: 'x' }), Buffer.alloc(1024)]);

/** A person who uses the mouse, and counts the clicks. Typing into the focused field takes no click. */
class Operator {
  readonly page: Page;
  clicks = 0;

  constructor(page: Page) {
    this.page = page;
  }

  async click(target: Locator): Promise<void> {
    await target.click();
    this.clicks++;
  }

  /** Types into a field, after a click on the field unless it has the focus. */
  async type(field: Locator, text: string): Promise<void> {
    await field.waitFor();
    if (!(await field.evaluate((element) => element.matches(':focus')))) await this.click(field);
    await field.fill(text);
  }

  button(name: string | RegExp): Locator {
    return this.page.getByRole('button', { name, exact: true });
  }

  link(name: string): Locator {
    return this.page.getByRole('link', { name, exact: true });
  }

  get dialog(): Locator {
    return this.page.getByRole('dialog').last();
  }

  /** Confirms the open dialog with its last button. */
  async confirm(name: string): Promise<void> {
    await this.click(this.dialog.getByRole('button', { name, exact: true }));
  }

  /** Searches on the tenant list: the key `/` moves the focus to the field. */
  async find(text: string): Promise<void> {
    await this.page.getByRole('meter').first().waitFor();
    await this.page.keyboard.press('/');
    await this.type(this.page.getByLabel('Search tenants'), text);
    await expect
      .poll(async () =>
        (await this.page.locator('tbody th a').allTextContents()).every((id) => id.includes(text)),
      )
      .toBe(true);
  }

  async openTab(tenant: string, tab: string): Promise<void> {
    await this.find(tenant);
    await this.click(this.link(tenant));
    await this.click(this.page.getByRole('navigation', { name: 'Tenant' }).getByRole('link', { name: tab }));
  }

  async see(text: string | RegExp): Promise<void> {
    await this.page.getByText(text).first().waitFor();
  }
}

interface Task {
  /** Maximum number of clicks, starting from the tenant list. */
  limit: number;
  run: (operator: Operator, tenant: string, fixture: ConsoleFixture) => Promise<void>;
}

const TASKS: Record<string, Task> = {
  "undo an agent's writes of a day": {
    limit: 4,
    async run(operator, tenant) {
      await operator.find(tenant);
      await operator.click(operator.link(tenant));
      await operator.click(operator.link('key web-crawler'));
      await operator.click(operator.page.getByRole('button', { name: /^Revert… the changes of / }));
      await operator.confirm('Revert');
      await operator.see(/^Reverted the changes of key web-crawler/);
    },
  },
  'review and merge a draft with three conflicts': {
    limit: 7,
    async run(operator, tenant, { service: { app, database } }) {
      const draft = await proposeDraft(app, database, tenant, `Tidy up ${tenant}`);
      const [proposer, other] = await Promise.all(
        [draft.id, tenant].map((of) => createAgent(app, database, of, 'editor')),
      );
      for (const [path, old_str] of [
        ['/memories/refunds.md', 'two working days'],
        ['/memories/billing/invoices.md', 'second'],
      ]) {
        await proposer?.({ command: 'str_replace', path, old_str, new_str: 'one' });
        await other?.({ command: 'str_replace', path, old_str, new_str: 'three' });
      }
      await operator.click(operator.page.getByRole('link', { name: /^Drafts/ }).first());
      await operator.click(operator.link(`Tidy up ${tenant}`));
      for (const [left, file] of [
        ['3 conflicts', 'invoices'],
        ['2 conflicts', 'lee'],
        ['1 conflict', 'refunds'],
      ] as const) {
        await operator.see(`${left} left`);
        await operator.click(
          operator.page
            .getByRole('article', { name: file })
            .getByRole('button', { name: 'Draft', exact: true }),
        );
      }
      await operator.click(operator.button('Approve and merge'));
      await operator.see(/^Merged Tidy up/);
    },
  },
  'end a leaked secret': {
    limit: 4,
    async run(operator, tenant) {
      await operator.click(operator.link('Keys'));
      const search = operator.page.getByPlaceholder('Label or ID');
      await search.waitFor();
      await operator.page.keyboard.press('/');
      await operator.type(search, `leaked ${tenant}`);
      await expect.poll(() => operator.page.getByRole('rowheader').count()).toBe(1);
      await operator.click(operator.page.getByRole('button', { name: /^Rotate/ }));
      await operator.click(operator.dialog.getByRole('button', { name: 'The secret leaked' }));
      await operator.confirm('Rotate');
      await operator.page.getByRole('heading', { name: 'The new secret of the key' }).waitFor();
    },
  },
  'revoke a leaked key and undo its writes': {
    limit: 6,
    async run(operator, tenant, { service }) {
      const { app, database } = service;
      const label = `stolen ${tenant}`;
      const agent = await createAgent(app, database, tenant, label);
      await agent({ command: 'create', path: '/memories/stolen.md', file_text: 'Hostile' });
      const stopJobs = runJobs(service);
      try {
        await operator.click(operator.link('Keys'));
        const search = operator.page.getByPlaceholder('Label or ID');
        await search.waitFor();
        await operator.page.keyboard.press('/');
        await operator.type(search, label);
        await expect.poll(() => operator.page.getByRole('rowheader').count()).toBe(1);
        await operator.click(operator.page.getByRole('button', { name: /^Writes/ }));
        await operator.click(operator.dialog.getByLabel('Revoke the key now. This cannot be undone.'));
        await operator.confirm('Revoke and dry run');
        await operator.click(operator.button('Undo in 1 tenant…'));
        await operator.confirm('Undo');
        await operator.see('Changed 1 file.');
        await operator.see('2 of 2 done');
      } finally {
        await stopJobs();
      }
    },
  },
  'mount a memory into five tenants': {
    limit: 8,
    async run(operator, _tenant, { service: { database } }) {
      const tenants = new Tenants(database);
      const prefix = freshTenant('five');
      const ids = Array.from({ length: 6 }, (_, i) => `${prefix}-${i}`);
      for (const id of ids) await tenants.create(id);
      await operator.find(`${prefix}-`);
      for (const id of ids.slice(0, 5)) await operator.click(operator.page.getByLabel(`Select ${id}`));
      await operator.click(operator.button('Mount…'));
      await operator.type(operator.dialog.getByRole('combobox').first(), `${prefix}-`);
      const suggestions = operator.dialog.getByRole('listbox', { name: 'Tenants' });
      await operator.click(suggestions.getByRole('option', { name: `${prefix}-5`, exact: true }));
      await operator.confirm('Mount');
      await operator.see('Mounted into 5 tenants.');
    },
  },
  'create a tenant': {
    limit: 2,
    async run(operator) {
      await operator.click(operator.button('New tenant'));
      await operator.type(operator.dialog.getByRole('textbox', { name: /^ID/ }), freshTenant('created'));
      await operator.confirm('Create');
      await operator.see('Connect an agent');
    },
  },
  'create a key and hand it over': {
    limit: 5,
    async run(operator, tenant) {
      await operator.openTab(tenant, 'Settings');
      await operator.click(operator.button('New key'));
      await operator.confirm('Create');
      await operator.confirm('Copy the text');
    },
  },
  'rename a tenant': {
    limit: 4,
    async run(operator, tenant) {
      await operator.openTab(tenant, 'Settings');
      await operator.click(operator.button('Rename…'));
      await operator.type(operator.dialog.getByLabel('New ID'), `${tenant}-renamed`);
      await operator.confirm('Rename');
      await operator.see(`Renamed ${tenant} to ${tenant}-renamed.`);
    },
  },
  'restore a deleted file': {
    limit: 5,
    async run(operator, tenant, { service: { app, database } }) {
      const agent = await createAgent(app, database, tenant, 'cleaner');
      await agent({ command: 'delete', path: '/memories/style.md' });
      await operator.openTab(tenant, 'History');
      await operator.click(operator.page.getByRole('button', { name: /^deleted style/ }));
      await operator.click(operator.button('Restore…'));
      await operator.confirm('Restore');
      await operator.see(/^Restored \/memories\/style\.md/);
    },
  },
  'compare the memory at two times': {
    limit: 2,
    async run(operator, tenant) {
      await operator.openTab(tenant, 'Compare');
      await operator.see('9 files');
    },
  },
  'suspend a tenant': {
    limit: 3,
    async run(operator, tenant) {
      await operator.find(tenant);
      await operator.click(operator.page.getByLabel(`Select ${tenant}`, { exact: true }));
      await operator.click(operator.button('Suspend…'));
      await operator.confirm('Suspend');
      await operator.see('Suspended 1 tenant.');
    },
  },
  'set a limit of a tenant': {
    limit: 4,
    async run(operator, tenant) {
      await operator.find(tenant);
      await operator.click(operator.page.getByLabel(`Select ${tenant}`, { exact: true }));
      await operator.click(operator.button('Change settings…'));
      await operator.type(operator.dialog.getByRole('textbox', { name: /^Files/ }), '50');
      await operator.confirm('Change settings');
      await operator.see('Changed the settings of 1 tenant.');
    },
  },
  'export a memory': {
    limit: 3,
    async run(operator, tenant) {
      await operator.find(tenant);
      await operator.click(operator.page.getByLabel(`Select ${tenant}`, { exact: true }));
      await operator.click(operator.button('Export…'));
      const download = operator.page.waitForEvent('download');
      await operator.confirm('Export');
      expect((await download).suggestedFilename()).toBe(`${tenant}.tar`);
    },
  },
  'import an archive': {
    limit: 4,
    async run(operator, tenant) {
      await operator.openTab(tenant, 'Settings');
      const chooser = operator.page.waitForEvent('filechooser');
      await operator.click(operator.button('Import…'));
      await (await chooser).setFiles({ name: 'a.tar', mimeType: 'application/x-tar', buffer: ARCHIVE });
      await operator.confirm('Import');
      await operator.see(/^Imported 1 file/);
    },
  },
  'redact a superseded version': {
    limit: 6,
    async run(operator, tenant) {
      await operator.openTab(tenant, 'History');
      await operator.click(operator.page.getByRole('button', { name: /^created refunds/ }));
      await operator.click(operator.button('Redact…'));
      await operator.click(operator.dialog.getByLabel('I understand'));
      await operator.confirm('Redact');
      await operator.see('Redacted 1 version.');
    },
  },
};

describeConsole(
  "an operator's tasks in the console",
  (fixture) => {
    it.each(Object.entries(TASKS))(
      "completes an operator's task within its click limit: %s",
      async (_name, { limit, run }) => {
        const tenant = await fixture().poisonedTenant();
        await fixture().createKey({ tenant, isAdmin: false, label: `leaked ${tenant}` });
        const operator = new Operator(await fixture().openSignedIn('#/'));
        await run(operator, tenant, fixture());
        expect(operator.clicks).toBeLessThanOrEqual(limit);
      },
    );
  },
  startService,
);
