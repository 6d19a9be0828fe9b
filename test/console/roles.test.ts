/** @module-tag long */
import type { Locator, Page, Request } from 'playwright-core';
import { expect, it, onTestFinished } from 'vitest';
import { setMount } from '../../src/core/tenants/mounts.ts';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { describeConsole, signIn } from '../support/console-suite.ts';
import { entry } from '../support/create-archive.ts';
import { runJobs } from '../support/run-jobs.ts';
import { freshTenant } from '../support/test-service.ts';
import { proposeDraft } from './draft-scenario.ts';
import { createPoisonedMemory } from './scenario.ts';

const ARCHIVE = Buffer.concat([entry({ name: 'memories/new.md', content: 'x' }), Buffer.alloc(1024)]);

const MOUNT = { name: 'team', access: 'read_only' as const, instructions: '' };

type View = [place: string, isThere: (page: Page) => Promise<unknown>];
const VIEWS: View[] = [
  ['overview', (page) => page.getByRole('heading', { name: 'Overview' }).waitFor()],
  ['?search=TENANT', (page) => page.getByRole('meter').first().waitFor()],
  [
    '?search=TENANT&select',
    async (page) => {
      await page.getByRole('meter').first().waitFor();
      const box = page.getByLabel('Select all shown');
      if ((await box.count()) > 0) await box.check();
    },
  ],
  ['keys?tenant=TENANT', (page) => page.getByRole('rowheader').first().waitFor()],
  ['webhooks', (page) => page.getByRole('heading', { name: 'Webhooks' }).waitFor()],
  ['audit', (page) => page.getByRole('heading', { name: 'Audit' }).waitFor()],
  ['drafts', (page) => page.getByRole('heading', { name: 'Drafts' }).waitFor()],
  ['tenants/TENANT', (page) => page.getByRole('treeitem', { name: 'style.md' }).waitFor()],
  ['tenants/TENANT?path=/memories/style.md', (page) => page.getByText('# Tone').waitFor()],
  [
    'tenants/TENANT?path=/memories/customers',
    (page) => page.getByRole('button', { name: 'Download' }).waitFor(),
  ],
  ['tenants/TENANT/compare', (page) => page.getByText('9 files', { exact: true }).waitFor()],
  [
    'tenants/TENANT/history?path=/memories/refunds.md&operation=created',
    async (page) => {
      await page.getByRole('button', { name: /^created refunds/ }).click();
      await page.getByRole('button', { name: 'Compare with…' }).waitFor();
    },
  ],
  ['tenants/TENANT/drafts', (page) => page.getByRole('link', { name: 'Tidy up' }).waitFor()],
  ['tenants/TENANT/drafts/DRAFT', (page) => page.getByRole('button', { name: /lee/ }).first().waitFor()],
  ['tenants/TENANT/settings', (page) => page.getByText('Last activity').waitFor()],
];

type Access = 'read_only' | 'operate' | 'read_write';

/** The roles for admin keys, for all tenants or for the test's tenants. */
const ROLES = (['read_only', 'operate', 'read_write'] as const).flatMap((access) =>
  (['all tenants', 'its tenants'] as const).map((scope) => [access, scope] as const),
);

/** The buttons outside lists of files, versions, and differences. The buttons in these lists only select. */
const BUTTONS = 'main button:enabled:not(.copy, .virtual-list *)';

/** Returns the visible buttons' labels. Buttons in several rows have one label. */
const LABELS = `[...document.querySelectorAll('${BUTTONS}')]
  .filter((button) => button.checkVisibility())
  .map((button) => {
    const copy = button.cloneNode(true);
    for (const hidden of copy.querySelectorAll('.visually-hidden')) hidden.remove();
    return copy.textContent.trim() || button.ariaLabel || '';
  })`;

interface Subjects {
  tenant: string;
  /** Another tenant in the key's scope. */
  other: string;
  draft: string;
}

describeConsole("the console's buttons", (fixture) => {
  /** Creates the tenants again, so that each button finds the same state. */
  async function prepare(tenant: string, other: string): Promise<Subjects> {
    const { service } = fixture();
    const tenants = new Tenants(service.database);
    for (const id of [tenant, other]) if (await tenants.find(id)) await tenants.delete(id);
    await createPoisonedMemory(service.app, service.database, tenant);
    await tenants.create(other);
    await setMount(service.database, tenant, { ...MOUNT, tenant: other });
    return { tenant, other, draft: (await proposeDraft(service.app, service.database, tenant)).id };
  }

  /** Fills a dialog's fields so that its form can be sent. */
  async function fill(page: Page, dialog: Locator, { tenant, other }: Subjects): Promise<void> {
    const values: [label: RegExp, value: string][] = [
      [/^Type the ID/, tenant],
      [/^Type the number/, '1'],
      [/^New ID|^ID$/, freshTenant('made')],
      [/^Tenant|IDs of the tenants/, other],
      [/^Path|^New path/, `/memories/${freshTenant('file')}.md`],
      [/^Files/, '500'],
      [/^Label|^Name|^Instructions/, 'changed'],
    ];
    for (const [label, value] of values) {
      const field = dialog.getByLabel(label).and(page.locator('input:visible:enabled'));
      if ((await field.count()) === 1) await field.fill(value);
    }
    for (const box of await dialog.getByRole('checkbox').all()) await box.check();
  }

  /** Sends the open dialogs: a form, and the questions that follow. */
  async function sendDialogs(page: Page, subjects: Subjects): Promise<void> {
    for (let i = 0; i < 3; i++) {
      await expect.poll(() => page.locator('.loading, .work-progress').count()).toBe(0);
      const dialog = page.getByRole('dialog').last();
      if ((await dialog.count()) === 0) return;
      await fill(page, dialog, subjects);
      const submit = dialog.locator('footer button').last();
      if (!(await submit.isEnabled())) return;
      await submit.click();
    }
  }

  /** Creates a key with a role, because a deleted tenant leaves the scopes of all keys. */
  async function keyFor(access: Access, scope: string, { tenant, other }: Subjects): Promise<string> {
    const { key } = await fixture().createKey({
      access,
      label: 'walker',
      ...(scope === 'its tenants' && { onlyTenants: [tenant, other] }),
    });
    return key;
  }

  /** Signs in with a role, and collects the requests that the service rejects because of the role. */
  async function signInAs(access: Access, scope: string) {
    const subjects = await prepare(freshTenant('walked'), freshTenant('other'));
    const { tenant } = subjects;
    const page = await fixture().open(await fixture().newContext());
    await signIn(page, await keyFor(access, scope, subjects));
    const rejected: string[] = [];
    const changes: string[] = [];
    const pending = new Set<Request>();
    const at = { step: '' };
    page.on('request', (request) => {
      if (request.method() === 'GET') return;
      pending.add(request);
      changes.push(request.url());
    });
    page.on('requestfailed', (request) => pending.delete(request));
    page.on('response', (response) => {
      pending.delete(response.request());
      if (response.status() === 403)
        rejected.push(`${at.step}: ${response.request().method()} ${new URL(response.url()).pathname}`);
    });
    const open = async (view: string, { draft }: Subjects, isThere: View[1]) => {
      const place = view.replace('&select', '').replaceAll('TENANT', tenant).replace('DRAFT', draft);
      // Loads another page from the same process first, so that the console starts again.
      await page.goto(`${fixture().url}/icon.svg`);
      pending.clear();
      await page.goto(`${fixture().url}/#/${place}`);
      await isThere(page);
      await expect.poll(() => page.locator('.loading').count()).toBe(0);
      return page.evaluate<string[]>(LABELS);
    };
    const isOffered = (view: string) => view !== 'overview' || scope === 'all tenants';
    return {
      page,
      subjects,
      rejected,
      changes,
      pending,
      at,
      open,
      views: VIEWS.filter(([view]) => isOffered(view)),
    };
  }

  it.each(ROLES)(
    "opens each page without a rejected request, and shows only the role's buttons: %s for %s",
    async (access, scope) => {
      const { page, subjects, rejected, at, open, views } = await signInAs(access, scope);
      const offered = new Set<string>();
      for (const [view, isThere] of views) {
        at.step = view;
        for (const label of await open(view, subjects, isThere)) offered.add(label);
      }
      expect(rejected).toStrictEqual([]);
      const managing = [
        'New key',
        'New mount',
        'Invite…',
        'Accept…',
        'New webhook',
        'Revoke',
        'Mount…',
        'New keys…',
        'Delete tenant…',
      ];
      const ofFleet = ['New tenant', 'Rename…', 'Copy…'];
      const changing = [
        'New file',
        'Import…',
        'Suspend…',
        'Change settings…',
        'Restore…',
        'Approve and merge',
      ];
      const has = (labels: string[]) => labels.filter((label) => offered.has(label));
      expect({ managing: has(managing), ofFleet: has(ofFleet) }).toStrictEqual({
        managing: access === 'read_write' ? managing : [],
        ofFleet: access === 'read_write' && scope === 'all tenants' ? ofFleet : [],
      });
      expect(has(changing).includes('Import…')).toBe(access !== 'read_only');
      if (access === 'read_only') expect(has(changing)).toStrictEqual([]);
      const nav = page.getByRole('navigation', { name: 'Main' }).getByRole('link');
      expect((await nav.allTextContents()).includes('Overview')).toBe(scope === 'all tenants');
    },
  );

  it.each(ROLES)(
    'sends only requests that the key may make when each button is clicked: %s for %s',
    async (access, scope) => {
      onTestFinished(runJobs(fixture().service));
      const walk = await signInAs(access, scope);
      const { page, rejected, changes, pending, at, open, views } = walk;
      let { subjects } = walk;
      page.on('dialog', (dialog) => dialog.accept());
      page.on('filechooser', (chooser) =>
        chooser.setFiles({ name: 'a.tar', mimeType: 'application/x-tar', buffer: ARCHIVE }).catch(() => {}),
      );
      let clicks = 0;
      for (const [view, isThere] of views) {
        const done = new Set<string>();
        for (;;) {
          if (changes.length > 0) {
            // An open page would ask for tenants that its key may no longer see.
            await page.goto(`${fixture().url}/icon.svg`);
            subjects = await prepare(subjects.tenant, subjects.other);
            const key = await keyFor(access, scope, subjects);
            await page.evaluate(`sessionStorage.setItem('admin-key', '${key}')`);
          }
          changes.length = 0;
          const labels = await open(view, subjects, isThere);
          const label = labels.find((each) => !done.has(each));
          if (label === undefined) break;
          done.add(label);
          clicks++;
          at.step = `${view}: ${label}`;
          await page.locator(`${BUTTONS}:visible`).nth(labels.indexOf(label)).click();
          await sendDialogs(page, subjects);
          // A change that is under way would find the next button's tenants, which the key may not use.
          await expect.poll(() => pending.size).toBe(0);
        }
      }
      expect(rejected).toStrictEqual([]);
      expect(clicks).toBeGreaterThan({ read_only: 15, operate: 40, read_write: 50 }[access]);
    },
  );
});
