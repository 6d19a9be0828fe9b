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
  [
    'keys',
    'keys',
    async (page) => {
      await page.getByRole('rowheader', { name: 'support-agent' }).first().waitFor();
      const rights = page.locator('details:not([open]) summary', { hasText: '2 rights by path' });
      if ((await rights.count()) > 0) await rights.first().click();
    },
  ],
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
  ['review', 'tenants/TENANT/drafts/DRAFT', (page) => page.getByText('1 conflict left').waitFor()],
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
      await page.getByRole('heading', { name: 'Shared by' }).waitFor();
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
  const rights = [
    { path: `/memories/${'customers'.repeat(12)}`, access: 'read_only' },
    { path: '/memories/private', access: 'none' },
  ];
  const send = createSender(url, (await createKey()).key);
  await send('POST', '/v1/keys', { kind: 'tenant', tenant, label: 'limited', rights });
  await createWebhook(send, tenant);
  await createShares(send, tenant, await poisonedTenant());
  return { tenant, draft: draft.id };
}

type Send = (method: string, path: string, body: object) => Promise<Response>;

/** Returns a function that sends requests to the admin API. */
function createSender(url: string, key: string): Send {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  return (method, path, body) => fetch(url + path, { method, headers, body: JSON.stringify(body) });
}

/** Shares both tenants' memories with each other, and creates one more invitation for each. */
async function createShares(send: Send, one: string, other: string): Promise<void> {
  for (const [giver, receiver] of [
    [one, other],
    [other, one],
  ]) {
    const invitation = { access: 'propose', prefix: `/memories/${'shared'.repeat(30)}`, reusable: true };
    const created = await send('POST', `/v1/tenants/${giver}/invitations`, invitation);
    const { token } = (await created.json()) as { token: string };
    await send('POST', `/v1/tenants/${receiver}/shares`, { token, name: 'team'.repeat(60) });
  }
}

/** Creates a disabled webhook with a long URL and path. */
async function createWebhook(send: Send, tenant: string): Promise<void> {
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
