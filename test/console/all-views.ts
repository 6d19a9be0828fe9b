import type { Page } from 'playwright-core';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import type { ConsoleFixture } from '../support/console-suite.ts';
import { proposeDraft } from './draft-scenario.ts';

/** `TENANT` and `DRAFT` in a place stand for the prepared tenant and its draft. */
export type View = [name: string, place: string, isThere: (page: Page) => Promise<unknown>];

/** Each page in the console, with the content that its layout depends on. */
export const VIEWS: View[] = [
  ['overview', 'overview', (page) => page.getByRole('img', { name: /^Calls by day/ }).waitFor()],
  ['tenants', '', (page) => page.getByRole('meter').first().waitFor()],
  ['drafts', 'drafts', (page) => page.getByRole('link', { name: 'Tidy up' }).first().waitFor()],
  ['keys', 'keys', (page) => page.getByRole('rowheader', { name: 'support-agent' }).first().waitFor()],
  ['webhooks', 'webhooks', (page) => page.getByText('Draft merged').first().waitFor()],
  ['incident', 'incidents', (page) => page.getByRole('heading', { name: 'Jobs', exact: true }).waitFor()],
  ['audit', 'audit', (page) => page.getByText('Resume a tenant').first().waitFor()],
  [
    'memory',
    'tenants/TENANT?path=/memories/refunds.md',
    async (page) => {
      await page.getByText('No approval is needed').waitFor();
      await page.getByRole('list', { name: 'Changes by actor' }).waitFor();
    },
  ],
  [
    'history',
    'tenants/TENANT/history',
    (page) => page.getByRole('button', { name: /modified refunds/ }).waitFor(),
  ],
  ['comparison', 'tenants/TENANT/compare', (page) => page.getByText('9 files', { exact: true }).waitFor()],
  [
    'drafts of a tenant',
    'tenants/TENANT/drafts',
    (page) => page.getByRole('link', { name: 'Tidy up' }).waitFor(),
  ],
  ['review', 'tenants/TENANT/drafts/DRAFT', (page) => page.getByText('1 file to resolve').waitFor()],
  [
    'palette',
    'tenants/TENANT/history',
    async (page) => {
      await page.getByRole('button', { name: /modified refunds/ }).waitFor();
      // The palette stays open while the width changes.
      if ((await page.getByRole('dialog').count()) > 0) return;
      await page.keyboard.press('Control+k');
      await page.getByRole('option', { name: 'Audit Page' }).waitFor();
    },
  ],
  [
    'several tenants',
    '?search=TENANT',
    async (page) => {
      await page
        .getByLabel(/^Select tenant-/)
        .first()
        .check();
      await page.getByText(/^\d+ selected$/).waitFor();
    },
  ],
  [
    'settings',
    'tenants/TENANT/settings',
    async (page) => {
      await page.getByRole('rowheader', { name: 'support-agent' }).first().waitFor();
      await page.getByRole('img', { name: /^Calls by day/ }).waitFor();
    },
  ],
];

export interface Prepared {
  tenant: string;
  draft: string;
}

/** Creates a tenant with a draft, all kinds of keys, and usage, so that each page has rows. */
export async function prepareViews({
  service,
  poisonedTenant,
  createKey,
  url,
}: ConsoleFixture): Promise<Prepared> {
  const tenant = await poisonedTenant();
  const draft = await proposeDraft(service.app, service.database, tenant);
  await service.app.usageCounts.flush();
  await new Tenants(service.database).suspend(tenant, false);
  const soon = new Date(Date.now() + 300 * 86_400_000).toISOString();
  const isAdmin = false;
  await createKey({ tenant, isAdmin, access: 'propose', label: 'nightly consolidation', expiresAt: soon });
  await createKey({ isAdmin, managesStores: true, label: 'stores', source: 'import', expiresAt: soon });
  const { key } = await createKey({ onlyTenants: [tenant], access: 'operate' });
  await fetch(`${url}/v1/tenants/${tenant}/resume`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
  });
  await createWebhook(url, (await createKey()).key, tenant);
  return { tenant, draft: draft.id };
}

/** Creates a disabled webhook with a long URL and path. */
async function createWebhook(url: string, key: string, tenant: string): Promise<void> {
  const send = (method: string, path: string, body: object) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    return fetch(url + path, { method, headers, body: JSON.stringify(body) });
  };
  const created = await send('POST', '/v1/webhooks', {
    tenant,
    url: `https://example.com/${'memory/'.repeat(20)}?token=x`,
    types: ['created', 'modified', 'deleted', 'draft_merged', 'key_revoked'],
    path: `/memories/${'customers'.repeat(12)}`,
    content: true,
  });
  await send('PATCH', String(created.headers.get('location')), { enabled: false });
}

export const viewHash = (place: string, { tenant, draft }: Prepared) =>
  `#/${place.replace('TENANT', tenant).replace('DRAFT', draft)}`;
