/** @module-tag long */
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { ALL_KEYS, Keys } from '../../src/core/tenants/keys.ts';
import { FirstKey } from '../../src/features/sign-in/first-key.ts';
import { describeConsole, signIn } from '../support/console-suite.ts';
import { freePort } from '../support/faults/postgres-server.ts';
import { openIdVariables, startOpenId } from '../support/openid.ts';
import { startConsole } from '../support/start-console.ts';
import { startService } from '../support/test-service.ts';

describeConsole('signing in to the console', (fixture) => {
  it('requires an admin key, and keeps the key only in the tab that signed in', async () => {
    const { newContext, open, createKey } = fixture();
    const tenant = await fixture().poisonedTenant();
    const { key } = await createKey({ label: 'anna' });
    const context = await newContext();
    const page = await open(context);
    await signIn(page, key);
    await page.getByLabel('Search tenants').fill(tenant.toUpperCase());
    await page.getByRole('link', { name: tenant, exact: true }).waitFor();
    await page.getByText('key anna').waitFor();

    // The session survives a reload, another tab is not signed in, and there are no cookies.
    await page.reload();
    await page.getByRole('button', { name: 'Sign out' }).waitFor();
    const other = await open(context);
    await other.getByLabel('Admin key').waitFor();
    expect(await context.cookies()).toStrictEqual([]);
    expect(await page.evaluate(() => Object.keys(localStorage))).toStrictEqual([]);

    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Admin key').waitFor();
    expect(await page.evaluate(() => Object.keys(sessionStorage))).toStrictEqual([]);
  });

  it('rejects a tenant key and an unknown key in the console', async () => {
    const { newContext, open, createKey } = fixture();
    const page = await open(await newContext());
    const { key } = await createKey({ isAdmin: false, tenant: await fixture().poisonedTenant() });
    const tryKey = async (given: string) => {
      await page.getByLabel('Admin key').fill(given);
      await page.getByRole('button', { name: 'Sign in' }).click();
      return page.getByRole('alert').textContent();
    };
    expect(await tryKey(key)).toBe(
      'This is not an admin key. Keys of tenants and services do not work here.',
    );
    await page.reload();
    expect(await tryKey(`msk_${'0'.repeat(40)}`)).toBe('This key is not valid, expired, or was revoked.');
  });

  it.each(['expired', 'revoked'])('requires another sign-in after the key is %s', async (how) => {
    const { newContext, open, createKey, service, url } = fixture();
    const tenant = await fixture().poisonedTenant();
    const { id, key } = await createKey();
    const page = await open(await newContext(), `#/tenants/${tenant}`);
    await signIn(page, key);
    await page.getByRole('treeitem', { name: 'style.md' }).waitFor();

    const column = how === 'expired' ? 'expires_at' : 'revoked_at';
    await service.query(`UPDATE api_keys SET ${column} = now() WHERE id = $1`, [id]);
    // The service caches the key for a second.
    await expect
      .poll(
        async () =>
          (await fetch(`${url}/v1/session`, { headers: { authorization: `Bearer ${key}` } })).status,
      )
      .toBe(401);
    // The stream of changes ends.
    expect(await page.getByRole('alert').textContent()).toBe(
      'Your key is no longer accepted: it has expired or was revoked. Sign in with another one.',
    );

    // Signing in with the next key returns to the same page.
    await signIn(page, (await createKey()).key);
    await page.getByRole('treeitem', { name: 'style.md' }).waitFor();
  });

  it('hides the buttons for changes from a read-only key', async () => {
    const tenant = await fixture().poisonedTenant();
    const page = await fixture().openSignedIn(`#/tenants/${tenant}`, { access: 'read_only' });
    await page.getByRole('treeitem', { name: 'style.md' }).click();
    await page.getByRole('button', { name: 'Download' }).waitFor();
    for (const name of ['Edit', 'Delete', 'New file']) {
      expect(await page.getByRole('button', { name }).count()).toBe(0);
    }
    await page.getByRole('link', { name: 'Settings' }).click();
    await page.getByRole('heading', { name: 'Limits and settings' }).waitFor();
    for (const name of ['Save settings', 'New key', 'Revoke', 'Suspend', 'Delete tenant…', 'Import…']) {
      expect(await page.getByRole('button', { name }).count()).toBe(0);
    }
  });

  it('signs in all tabs with an account from an OpenID Connect provider', async () => {
    const tenant = await fixture().poisonedTenant();
    const consoleUrl = `http://127.0.0.1:${await freePort()}`;
    const openId = await startOpenId(consoleUrl);
    const server = await startConsole(fixture().service.database, openIdVariables(openId.issuer, consoleUrl));
    const context = await fixture().newContext();
    const signInAs = async (page: Page, account: string) => {
      await page.getByRole('button', { name: 'Continue with your account' }).click();
      await page.getByPlaceholder('Enter any login').fill(account);
      await page.getByPlaceholder('and password').fill('any');
      await page.getByRole('button', { name: 'Sign-in' }).click();
      await page.getByRole('button', { name: 'Continue' }).click();
    };
    const page = await context.newPage();
    await page.goto(`${consoleUrl}/#/tenants/${tenant}`);
    await signInAs(page, 'anna memory-viewer');

    // The provider sends the person back to the page that was open before the sign-in.
    await page.getByRole('treeitem', { name: 'style.md' }).waitFor();
    await page.getByText('read only').waitFor();
    await page.getByText('anna', { exact: true }).waitFor();
    const other = await context.newPage();
    await other.goto(consoleUrl);
    await other.getByLabel('Search tenants').fill(tenant);
    await other.getByRole('link', { name: tenant, exact: true }).waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Admin key').waitFor();
    await other.reload();
    await other.getByLabel('Admin key').waitFor();

    const stranger = await (await fixture().newContext()).newPage();
    await stranger.goto(consoleUrl);
    await signInAs(stranger, 'eve');
    expect(await stranger.getByRole('alert').textContent()).toBe(
      'You have no role for this console. Ask the person who manages your accounts for one.',
    );
    expect(stranger.url()).toBe(`${consoleUrl}/`);
    await server.close();
    await openId.close();
  });

  it('creates the first admin key with the link from the start log', async () => {
    const service = await startService('pglite', { AUTH: 'keys' });
    const firstKey = await FirstKey.offer(service.database);
    const server = await startConsole(service.database, {}, firstKey);
    const page = await (await fixture().newContext()).newPage();
    await page.goto(firstKey?.linkAt(server.url) ?? '');
    // Two pages opened the link; only one page gets a key.
    const other = await (await fixture().newContext()).newPage();
    await other.goto(firstKey?.linkAt(server.url) ?? '');
    await other.getByRole('button', { name: 'Create admin key' }).waitFor();
    expect(await other.evaluate("getComputedStyle(document.querySelector('.card')).rowGap")).toBe('16px');
    await page.getByRole('button', { name: 'Create admin key' }).click();
    await page.getByLabel('The key', { exact: true }).waitFor();
    await other.getByRole('button', { name: 'Create admin key' }).click();
    await other.getByRole('alert').getByText('It cannot create a key.').waitFor();
    expect(await other.getByRole('button', { name: 'Create admin key' }).count()).toBe(0);
    const key = await page.getByLabel('The key', { exact: true }).inputValue();
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByText('key first key').waitFor();
    expect((await new Keys(service.database).page(ALL_KEYS, null, 10)).rows).toMatchObject([
      { label: 'first key', isAdmin: true, access: 'read_write' },
    ]);
    const session = await fetch(`${server.url}/v1/session`, { headers: { authorization: `Bearer ${key}` } });
    expect(session.status).toBe(200);

    const late = await (await fixture().newContext()).newPage();
    await late.goto(firstKey?.linkAt(server.url) ?? '');
    await late.getByRole('alert').getByText('It cannot create a key.').waitFor();
    expect(await late.getByRole('button', { name: 'Create admin key' }).count()).toBe(0);
    await late.getByRole('link', { name: 'Sign in with an admin key' }).click();
    await late.getByLabel('Admin key').waitFor();
    await server.close();
    await service.close();
  });
});
