/** @module-tag long */
import { expect, it } from 'vitest';
import { describeConsole, signIn } from '../support/console-suite.ts';

describeConsole('signing in to the console', (fixture) => {
  it('requires an admin key and keeps it only in this tab', async () => {
    const { newContext, open, createKey } = fixture();
    const tenant = await fixture().poisonedTenant();
    const { key } = await createKey({ label: 'anna' });
    const context = await newContext();
    const page = await open(context);
    await signIn(page, key);
    await page.getByLabel('Search tenants').fill(tenant.toUpperCase());
    await page.getByRole('link', { name: tenant, exact: true }).waitFor();
    await page.getByText('key anna').waitFor();

    // A reload stays signed in, another tab does not, and there are no cookies.
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

  it('rejects a tenant key and an unknown key', async () => {
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

  it.each(['expired', 'revoked'])('is required again when the key is %s', async (how) => {
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
    await page.getByRole('treeitem', { name: 'style.md' }).click();
    expect(await page.getByRole('alert').textContent()).toBe(
      'Your key is no longer accepted: it has expired or was revoked. Sign in with another one.',
    );

    // Signing in with the next key returns to the same page.
    await signIn(page, (await createKey()).key);
    await page.getByRole('treeitem', { name: 'style.md' }).waitFor();
  });

  it('hides all changes from a read-only key', async () => {
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
});
