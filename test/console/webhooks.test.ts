/** @module-tag long */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { KeyPurpose } from '../../src/core/tenants/keys.ts';
import { FleetLog } from '../../src/features/feed/fleet-log.ts';
import { Sender } from '../../src/features/webhooks/sender.ts';
import { startLog } from '../support/change-log.ts';
import { describeConsole, signIn } from '../support/console-suite.ts';
import { type Console, createAgent, startConsole } from '../support/start-console.ts';
import { isSignedWith, startReceiver, status } from '../webhooks/test-receiver.ts';
import { ageHistory } from './spread-history.ts';

const ALLOWED = '127.0.0.0/8';

const dialog = (page: Page) => page.getByRole('dialog');
const webhooks = (page: Page) => page.locator('.webhooks > li');
const clickButton = (page: Page, name: string | RegExp) =>
  webhooks(page).getByRole('button', { name }).click();

describeConsole('webhooks in the console', (fixture) => {
  let server: Console;
  beforeAll(async () => {
    server = await startConsole(fixture().service.database, { WEBHOOK_ALLOWED_ADDRESSES: ALLOWED });
  });
  afterAll(() => server.close());

  async function open(place: string, purpose?: Partial<KeyPurpose>): Promise<Page> {
    const context = await fixture().newContext();
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    const page = await context.newPage();
    await page.goto(`${server.url}/${place}`);
    await signIn(page, (await fixture().createKey(purpose)).key);
    return page;
  }

  /** Returns the secret in the open dialog, and closes the dialog. */
  async function takeSecret(page: Page): Promise<string> {
    const secret = await page.getByRole('textbox', { name: 'The secret' }).inputValue();
    await page.getByRole('button', { name: 'Copy the secret' }).press('Enter');
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    await page.keyboard.press('Escape');
    await expect.poll(() => dialog(page).count()).toBe(0);
    return secret;
  }

  /** Delivers all messages that are due. */
  const deliver = () =>
    new Sender(fixture().service.database, {
      allowed: [ALLOWED],
      onFault: (_, error) => {
        throw error;
      },
    }).run();

  async function createByApi(body: object): Promise<void> {
    const { key } = await fixture().createKey();
    const response = await fetch(`${server.url}/v1/webhooks`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    expect(response.status).toBe(201);
  }

  it("creates a webhook for alerts from the overview's link, once", async () => {
    await startLog(new FleetLog(fixture().service.database));
    const page = await open('#/overview');
    await page.getByRole('link', { name: 'Send these to a webhook' }).click();
    await dialog(page).getByLabel('URL').fill('http://127.0.0.1/alerts');
    await dialog(page).getByRole('button', { name: 'Create' }).click();
    await takeSecret(page);
    const created = webhooks(page).filter({ hasText: 'http://127.0.0.1/alerts' });
    await created.getByText('Limit nearly reached, Job ended, Draft opened, Tenant suspended').waitFor();
    expect(page.url()).toMatch(/#\/webhooks$/);
    await page.getByRole('button', { name: 'New webhook' }).click();
    expect(await dialog(page).getByLabel('Events').inputValue()).toBe('all');
  });

  it('creates a webhook by keyboard, tests it, lists its deliveries, rotates, disables, and deletes it', async () => {
    const { service, poisonedTenant } = fixture();
    const tenant = await poisonedTenant();
    const receiver = await startReceiver();
    const page = await open(`#/tenants/${tenant}/settings`);
    await page.getByRole('button', { name: 'New webhook' }).press('Enter');
    await page.keyboard.type(`${receiver.url}?token=x`);
    await dialog(page).getByLabel('Events').selectOption('Only certain events');
    const create = dialog(page).getByRole('button', { name: 'Create' });
    expect(await create.isDisabled()).toBe(true);
    for (const name of ['File created', 'File deleted']) await dialog(page).getByLabel(name).press('Space');
    await dialog(page).getByLabel('Send the contents of files, too').press('Space');
    await dialog(page).getByLabel('Path').fill('/memories/customers');
    await page.keyboard.press('Enter');
    const secret = await takeSecret(page);
    expect(await webhooks(page).locator('p').first().textContent()).toBe(`${receiver.url}?…`);
    expect(await webhooks(page).locator('p').nth(1).textContent()).toMatch(
      /^File created, File deleted, at or below \/memories\/customers, with contents · wh_\w{12}$/,
    );

    await webhooks(page).getByRole('button', { name: /^Test/ }).press('Enter');
    await webhooks(page)
      .getByText(/^Test: Accepted with status 204\. \(\d+ ms\)$/)
      .waitFor();
    expect(receiver.messages.every((message) => isSignedWith(secret, message))).toBe(true);

    receiver.respond = status(500);
    const agent = await createAgent(service.app, service.database, tenant, 'author');
    await agent({ command: 'create', path: '/memories/customers/new.md', file_text: 'Prefers calls' });
    await deliver();
    await clickButton(page, /^Test/);
    await webhooks(page)
      .getByText(/^Test: The server rejected the message\. Its status was 500\./)
      .waitFor();
    await webhooks(page).getByText('failing', { exact: true }).waitFor();
    await webhooks(page)
      .getByText(/^Next attempt: /)
      .waitFor();
    receiver.respond = status(204);
    await clickButton(page, /^Try now/);
    await webhooks(page).getByText('failing', { exact: true }).waitFor({ state: 'hidden' });
    await deliver();
    expect(receiver.messages.at(-1)?.payload.data.content).toBe('Prefers calls');
    await webhooks(page)
      .getByRole('button', { name: /^Deliveries/ })
      .press('Enter');
    const results = page.getByRole('region', { name: 'Deliveries' }).locator('p:first-child');
    await expect
      .poll(() => results.allTextContents())
      .toStrictEqual([
        'file.createdAccepted with status 204.',
        'webhook.testThe server rejected the message. Its status was 500.',
        'file.createdThe server rejected the message. Its status was 500.',
        'webhook.testAccepted with status 204.',
      ]);
    await page.setViewportSize({ width: 360, height: 740 });
    // Tables become cards in a later frame.
    await expect.poll(() => page.evaluate('document.documentElement.scrollWidth')).toBe(360);

    await clickButton(page, /^Rotate the secret/);
    await dialog(page).getByLabel('The current secret also signs').selectOption('For an hour');
    await dialog(page).getByRole('button', { name: 'Rotate' }).click();
    const rotated = await takeSecret(page);
    await webhooks(page)
      .getByText(/^The old secret also signs until /)
      .waitFor();
    const { length } = receiver.messages;
    await clickButton(page, /^Test/);
    await expect.poll(() => receiver.messages.length).toBe(length + 1);
    for (const each of [secret, rotated])
      expect(isSignedWith(each, receiver.messages[length] as never)).toBe(true);

    await clickButton(page, /^Disable/);
    await dialog(page).getByRole('button', { name: 'Disable' }).click();
    await webhooks(page).getByText('disabled', { exact: true }).waitFor();
    await clickButton(page, /^Enable/);
    await webhooks(page).getByText('disabled', { exact: true }).waitFor({ state: 'hidden' });
    await clickButton(page, /^Delete/);
    await dialog(page).getByRole('button', { name: 'Delete' }).click();
    await page.getByText('No webhooks').waitFor();
  });

  it('delivers again from a time, and shows the error for a time before the history', async () => {
    const { service, poisonedTenant } = fixture();
    const tenant = await poisonedTenant();
    // The field for a time has seconds, so the history must begin in an earlier second than the message.
    await ageHistory(service.database, tenant, '1 hour');
    const receiver = await startReceiver();
    await createByApi({ tenant, url: receiver.url, path: '/memories/again.md' });
    const page = await open(`#/tenants/${tenant}/settings`);
    const agent = await createAgent(service.app, service.database, tenant, 'author');
    await agent({ command: 'create', path: '/memories/again.md', file_text: 'one' });
    await deliver();
    await clickButton(page, /^Deliver again/);
    const since = dialog(page).getByLabel('Since');
    await since.fill('2020-01-01T00:00:00');
    await dialog(page).getByRole('button', { name: 'Deliver again' }).click();
    expect(await dialog(page).getByRole('alert').textContent()).toMatch(
      /is complete only since .+ Choose a later time\.$/,
    );
    await since.fill(receiver.messages[0]?.payload.timestamp.slice(0, 19) ?? '');
    await dialog(page).getByRole('button', { name: 'Deliver again' }).click();
    await expect.poll(() => dialog(page).count()).toBe(0);
    await deliver();
    expect(receiver.texts()).toStrictEqual(Array(2).fill('file.created /memories/again.md'));
    expect(receiver.messages[1]?.id).toBe(receiver.messages[0]?.id);
  });

  it('lists the webhooks that a key may see, and hides the actions that it may not take', async () => {
    const [tenant, other] = [await fixture().poisonedTenant(), await fixture().poisonedTenant()];
    for (const each of [tenant, other])
      await createByApi({ tenant: each, url: `https://example.com/${each}` });
    const scoped = await open('#/webhooks', { onlyTenants: [tenant] });
    await webhooks(scoped).getByText(`https://example.com/${tenant}`, { exact: true }).waitFor();
    expect(await webhooks(scoped).count()).toBe(1);
    expect(await scoped.getByRole('button', { name: 'New webhook' }).count()).toBe(0);
    await webhooks(scoped).getByRole('link', { name: tenant }).click();
    await scoped.getByRole('button', { name: 'New webhook' }).waitFor();
    for (const access of ['read_only', 'operate'] as const) {
      const page = await open(`#/tenants/${other}/settings`, { access });
      await clickButton(page, /^Deliveries/);
      await page.getByText('No deliveries in the last 7 days').waitFor();
      expect(await webhooks(page).getByRole('button').count()).toBe(1);
      expect(await page.getByRole('button', { name: 'New webhook' }).count()).toBe(0);
    }
  });

  it('creates a webhook for all tenants on its own page, after an error for an invalid URL', async () => {
    await startLog(new FleetLog(fixture().service.database));
    const { url } = await startReceiver();
    const page = await open('#/keys');
    await page.getByRole('link', { name: 'Webhooks' }).click();
    await page.getByRole('button', { name: 'New webhook' }).click();
    await dialog(page).getByRole('textbox', { name: 'URL' }).fill('https://user@example.com/');
    await page.keyboard.press('Enter');
    expect(await dialog(page).getByRole('alert').textContent()).toContain('without a user');
    await dialog(page).getByRole('textbox', { name: 'URL' }).fill(url);
    await page.keyboard.press('Enter');
    await takeSecret(page);
    const item = webhooks(page).filter({ hasText: url });
    expect(await item.locator('p').first().textContent()).toBe(`${url}all tenants`);
    await item.getByRole('button', { name: /^Delete/ }).click();
    await dialog(page).getByRole('button', { name: 'Delete' }).click();
    await expect.poll(() => item.count()).toBe(0);
  });
});
