/** @module-tag long */
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { describeConsole, signIn } from '../support/console-suite.ts';
import { addFilter } from './add-filter.ts';

const dialog = (page: Page) => page.getByRole('dialog');
const readSecret = (page: Page) => page.getByRole('textbox', { name: 'The key', exact: true }).inputValue();

describeConsole('keys in the console', (fixture) => {
  async function open(): Promise<Page> {
    const page = await fixture().openSignedIn('#/keys');
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    return page;
  }

  /** Returns the status of a request to the admin API with a key. */
  const requestStatus = async (key: string, path = 'session', init: RequestInit = {}) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    return (await fetch(`${fixture().url}/v1/${path}`, { ...init, headers })).status;
  };

  async function create(page: Page, label: string, fill: () => Promise<unknown>): Promise<string> {
    await page.getByRole('button', { name: 'New key' }).click();
    await dialog(page).getByLabel('Label').fill(label);
    await fill();
    await dialog(page).getByRole('button', { name: 'Create' }).click();
    const secret = await readSecret(page);
    await page.getByRole('button', { name: 'Copy the key' }).click();
    await page.getByRole('button', { name: 'Done' }).click();
    return secret;
  }

  const row = (page: Page, label: string) =>
    page.getByRole('row').filter({ has: page.getByText(label, { exact: true }) });
  const storedKey = async (label: string) => {
    const [key] = await fixture().service.query(
      `SELECT tenant_id, access, is_admin, manages_stores, only_tenants,
         round(extract(epoch FROM expires_at - created_at) / 86400)::integer AS days FROM api_keys WHERE label = $1`,
      [label],
    );
    return key;
  };

  it('creates an admin key with selected tenants, access, and expiry', async () => {
    const [one, two] = [await fixture().poisonedTenant(), await fixture().poisonedTenant()];
    const page = await open();
    const key = await create(page, 'scoped', async () => {
      await dialog(page).getByRole('combobox', { name: 'For', exact: true }).selectOption('An admin');
      await dialog(page).getByRole('combobox', { name: 'Tenants' }).selectOption('Only certain tenants');
      const button = dialog(page).getByRole('button', { name: 'Create' });
      expect(await button.isDisabled()).toBe(true);
      await dialog(page).getByLabel('IDs of the tenants').fill(`${one}\n${two}\n`);
      await dialog(page)
        .getByLabel('Access')
        .selectOption('Operate: change memories, settings and suspension');
      await dialog(page).getByLabel('Expires').selectOption('In 90 days');
    });
    expect(await storedKey('scoped')).toStrictEqual({
      tenant_id: null,
      access: 'operate',
      is_admin: true,
      manages_stores: false,
      only_tenants: [one, two],
      days: 90,
    });
    expect(await requestStatus(key, `tenants/${one}/suspend`, { method: 'POST', body: '{}' })).toBe(200);
    expect(await requestStatus(key, 'usage')).toBe(403);
    expect(await row(page, 'scoped').getByRole('cell').first().textContent()).toBe('admin for 2 tenants');
    expect(await row(page, 'scoped').getByRole('cell').nth(1).textContent()).toBe('operate');

    // The console offers only the actions that the key permits.
    const other = await fixture().open(await fixture().newContext(), `#/tenants/${one}/settings`);
    await signIn(other, key);
    await other.getByText('operate only').waitFor();
    await other.getByRole('button', { name: 'Resume' }).click();
    await other.getByRole('button', { name: 'Suspend…' }).waitFor();
    for (const name of ['New key', 'New mount', 'Delete tenant…']) {
      expect(await other.getByRole('button', { name }).count()).toBe(0);
    }
    expect(await other.getByRole('link', { name: 'Overview', exact: true }).count()).toBe(0);
    await other.getByRole('link', { name: 'Tenants', exact: true }).first().click();
    await other.getByRole('link', { name: two }).waitFor();
    expect(await other.getByRole('link', { name: one }).count()).toBe(1);
    expect(await other.locator('.tenants tbody tr').count()).toBe(2);
    expect(await other.getByRole('button', { name: 'New tenant' }).count()).toBe(0);
  });

  it('creates a tenant key, and a service key that may manage memory stores until it expires', async () => {
    const tenant = await fixture().poisonedTenant();
    const page = await open();
    await create(page, 'of-one', async () => {
      await dialog(page).getByRole('combobox', { name: 'For', exact: true }).selectOption('One tenant');
      await dialog(page).getByLabel('Tenant', { exact: true }).fill(tenant);
    });
    expect(await storedKey('of-one')).toStrictEqual({
      tenant_id: tenant,
      access: 'read_only',
      is_admin: false,
      manages_stores: false,
      only_tenants: null,
      days: 90,
    });
    await create(page, 'of-stores', async () => {
      await dialog(page)
        .getByRole('combobox', { name: 'For', exact: true })
        .selectOption('A service that acts for all tenants');
      await dialog(page).getByLabel('Access').selectOption('Read and write');
      await dialog(page).getByLabel('Manage memory stores, and redact versions').check();
      await dialog(page).getByRole('combobox', { name: 'Expires' }).selectOption('At a time…');
      await dialog(page).getByLabel('Expires at').fill('2099-01-01T00:00');
    });
    expect(await storedKey('of-stores')).toMatchObject({
      tenant_id: null,
      access: 'read_write',
      is_admin: false,
      manages_stores: true,
    });
    await expect.poll(() => row(page, 'of-stores').textContent()).toContain('read, write, stores');
  });

  it('creates a key with rights by path, and edits and removes them', async () => {
    const tenant = await fixture().poisonedTenant();
    const page = await open();
    const rights = async () =>
      (await fixture().service.query("SELECT rights FROM api_keys WHERE label = 'limited'", []))[0]?.rights;
    const pathField = (number: number) => dialog(page).getByLabel(`Path of right ${number}`);
    const accessField = (number: number) => dialog(page).getByLabel(`Access of right ${number}`);
    const add = () => dialog(page).getByRole('button', { name: 'Add a right' }).press('Enter');
    await create(page, 'limited', async () => {
      await dialog(page).getByLabel('Tenant', { exact: true }).fill(tenant);
      await dialog(page)
        .getByRole('combobox', { name: 'Access', exact: true })
        .selectOption('Read and write');
      const sharing = dialog(page).getByLabel('Share the memory with other tenants by invitation');
      await sharing.check();
      expect(await dialog(page).getByRole('button', { name: 'Add a right' }).count()).toBe(0);
      await sharing.uncheck();
      await add();
      expect(await sharing.count()).toBe(0);
      await pathField(1).fill('/memories/private');
      await accessField(1).selectOption('No access');
      await add();
      await pathField(2).fill('/elsewhere');
      await dialog(page).getByRole('button', { name: 'Create' }).click();
      expect(await pathField(2).evaluate((input) => input.matches(':invalid'))).toBe(true);
      await pathField(2).fill('/memories/private');
      await dialog(page).getByRole('button', { name: 'Create' }).click();
      expect(await dialog(page).getByRole('alert').textContent()).toBe(
        'The field rights must have each path once.',
      );
      await pathField(2).fill('/memories/customers');
    });
    const stored = [
      { path: '/memories/customers', access: 'read_only' },
      { path: '/memories/private', access: 'none' },
    ];
    expect(await rights()).toStrictEqual(stored);
    await row(page, 'limited').getByText('2 rights by path').click();
    expect(await row(page, 'limited').locator('details').textContent()).toBe(
      '2 rights by pathread only: /memories/customershidden: /memories/private',
    );

    const edit = () => row(page, 'limited').getByRole('button', { name: 'Edit…' }).click();
    const save = () => dialog(page).getByRole('button', { name: 'Save' }).click();
    await edit();
    expect(await dialog(page).getByRole('button', { name: 'Save' }).isDisabled()).toBe(true);
    await accessField(1).selectOption('Propose');
    // Another admin changes the rights meanwhile.
    await fixture().service.query("UPDATE api_keys SET rights = $1::text::jsonb WHERE label = 'limited'", [
      JSON.stringify([stored[1]]),
    ]);
    await save();
    await page.getByText('Rights by path is now: hidden: /memories/private').waitFor();
    await page.getByRole('button', { name: 'Overwrite' }).click();
    await expect.poll(rights).toStrictEqual([{ ...stored[0], access: 'propose' }, stored[1]]);
    await expect.poll(() => dialog(page).count()).toBe(0);
    await edit();
    for (const _ of stored) await dialog(page).getByRole('button', { name: 'Remove right 1' }).click();
    await save();
    await expect.poll(() => dialog(page).count()).toBe(0);
    expect(await rights()).toBeNull();
    expect(await row(page, 'limited').locator('details').count()).toBe(0);
  });

  it('creates a key that may share, and offers no rights by path for it', async () => {
    const tenant = await fixture().poisonedTenant();
    const page = await open();
    await create(page, 'lead', async () => {
      await dialog(page).getByLabel('Tenant', { exact: true }).fill(tenant);
      await dialog(page)
        .getByRole('combobox', { name: 'Access', exact: true })
        .selectOption('Read and write');
      await dialog(page).getByLabel('Share the memory with other tenants by invitation').check();
    });
    await row(page, 'lead').getByText('read, write, share').waitFor();
    await row(page, 'lead').getByRole('button', { name: 'Edit…' }).click();
    expect(await dialog(page).getByRole('button', { name: 'Add a right' }).count()).toBe(0);
  });

  it('creates only one key if the response is lost and the user tries again', async () => {
    const page = await open();
    let lost = 0;
    await page.route('**/v1/keys', async (route) => {
      if (route.request().method() !== 'POST' || lost > 0) return route.continue();
      lost++;
      await route.fetch();
      await route.abort();
    });
    await page.getByRole('button', { name: 'New key' }).click();
    await dialog(page).getByLabel('Label').fill('once');
    await dialog(page)
      .getByRole('combobox', { name: 'For', exact: true })
      .selectOption('A service that acts for all tenants');
    await dialog(page).getByLabel('Expires').selectOption('In 30 days');
    await dialog(page).getByRole('button', { name: 'Create' }).click();
    await dialog(page).getByRole('alert').waitFor();
    await dialog(page).getByRole('button', { name: 'Create' }).click();
    const secret = await readSecret(page);
    const keys = await fixture().service.query("SELECT id FROM api_keys WHERE label = 'once'", []);
    expect(keys).toHaveLength(1);
    // A service key is valid, but not on this listener.
    expect(await requestStatus(secret)).toBe(403);
  });

  it('rotates a key with an overlap, and keeps showing the new secret after Escape and Back', async () => {
    const { id, key } = await fixture().createKey({ label: 'rotated' });
    await fixture().createKey({ label: 'other' });
    const page = await open();
    await page.getByRole('link', { name: 'Audit', exact: true }).click();
    await page.getByRole('link', { name: 'Keys', exact: true }).click();
    await row(page, 'rotated').getByRole('button', { name: 'Rotate…' }).click();
    await dialog(page).getByLabel('The current secret still works').selectOption('For an hour');
    await dialog(page).getByRole('button', { name: 'Rotate' }).click();
    const secret = await readSecret(page);
    for (let i = 0; i < 3; i++) await page.keyboard.press('Escape');
    await page.getByText('You have not copied the key.').waitFor();
    await page.evaluate('history.back()');
    const question = page.getByRole('dialog', { name: 'Leave without the key?' });
    await question.getByRole('button', { name: 'Stay' }).click();
    expect(await readSecret(page)).toBe(secret);
    await page.getByRole('button', { name: 'Copy the key' }).click();
    await expect.poll(() => page.evaluate('navigator.clipboard.readText()')).toBe(secret);
    await page.keyboard.press('Escape');
    await expect.poll(() => dialog(page).count()).toBe(0);

    for (const each of [key, secret]) await expect.poll(() => requestStatus(each)).toBe(200);
    const secrets = await fixture().service.query(
      `SELECT round(extract(epoch FROM expires_at - rotated_at))::integer AS overlap FROM api_keys WHERE id = $1
       ORDER BY rotated_at NULLS LAST`,
      [id],
    );
    expect(secrets).toStrictEqual([{ overlap: 3600 }, { overlap: null }]);
    // The dialog mentions the earlier rotation before it rotates again.
    await row(page, 'rotated').getByRole('button', { name: 'Rotate…' }).click();
    await dialog(page).getByText('The secret before the last rotation works until').waitFor();
    await dialog(page).getByRole('button', { name: 'Cancel' }).click();

    // The list offers to end the old secret before the overlap ends.
    await row(page, 'rotated')
      .getByText(/^old secret until in /)
      .waitFor();
    await row(page, 'rotated').getByRole('button', { name: 'End now' }).click();
    await dialog(page).getByRole('button', { name: 'End now' }).click();
    await expect.poll(() => row(page, 'rotated').getByText('old secret until').count()).toBe(0);
    await expect.poll(() => requestStatus(key)).toBe(401);
    await expect.poll(() => requestStatus(secret)).toBe(200);
  });

  it('keeps a tab signed in after the tab rotates its own key', async () => {
    const { key } = await fixture().createKey({ label: 'own' });
    const page = await fixture().open(await fixture().newContext(), '#/keys');
    await signIn(page, key);
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await row(page, 'own').getByRole('button', { name: 'Rotate…' }).click();
    await dialog(page).getByRole('button', { name: 'The secret leaked' }).click();
    await dialog(page).getByRole('button', { name: 'Rotate' }).click();
    await page.getByText('this tab continues with the new secret').waitFor();
    await page.getByRole('button', { name: 'Copy the key' }).click();
    await page.getByRole('button', { name: 'Done' }).click();
    await expect.poll(() => requestStatus(key)).toBe(401);
    await page.getByRole('link', { name: 'Audit', exact: true }).click();
    await page.getByRole('heading', { name: 'Audit' }).waitFor();
    await page.getByText('Rotate a key').first().waitFor();
  });

  it('filters keys by label, kind, tenant, and use, and sorts them by expiry', async () => {
    const tenant = await fixture().poisonedTenant();
    const { id } = await fixture().createKey({ tenant, isAdmin: false, label: 'idle' });
    const expiresAt = new Date(Date.now() + 20 * 86_400_000).toISOString();
    await fixture().createKey({ tenant, isAdmin: false, label: 'short-lived', expiresAt });
    await fixture().service.query(
      "UPDATE api_keys SET created_at = now() - interval '100 days' WHERE id = $1::text",
      [id],
    );
    const page = await fixture().openSignedIn(`#/keys?tenant=${tenant}`);
    const labels = () => page.getByRole('rowheader').locator('.name-text').allTextContents();
    const agents = ['billing-agent', 'support-agent', 'web-crawler'];
    const sortedLabels = async () => (await labels()).sort();
    await expect.poll(sortedLabels).toStrictEqual([...agents, 'idle', 'short-lived'].sort());
    await addFilter(page, 'Use');
    await page.getByRole('combobox', { name: 'Use' }).selectOption('Unused for 90 days');
    await expect.poll(labels).toStrictEqual(['idle']);
    await page.getByRole('combobox', { name: 'Use' }).selectOption('Expires within 30 days');
    await expect.poll(labels).toStrictEqual(['short-lived']);
    await page.getByRole('combobox', { name: 'Use' }).selectOption('Any use');
    await page.getByRole('combobox', { name: 'Sort by' }).selectOption('Next to expire first');
    await expect.poll(async () => (await labels())[0]).toBe('short-lived');
    await addFilter(page, 'Kind');
    await page.getByRole('combobox', { name: 'Kind' }).selectOption('Admin keys');
    await page.getByText('No matching keys').waitFor();
    await page.getByRole('combobox', { name: 'Kind' }).selectOption('Tenant keys');
    await page.getByPlaceholder('Label or ID').fill('AGENT');
    await expect.poll(sortedLabels).toStrictEqual(['billing-agent', 'support-agent']);
    expect(page.url()).toContain('kind=tenant&search=AGENT');
    // A part of the tenant ID finds the tenant's keys.
    await page.getByPlaceholder('Tenant', { exact: true }).fill(tenant.slice(1).toUpperCase());
    await expect.poll(() => page.url()).toContain('tenant=');
    await expect.poll(sortedLabels).toEqual(expect.arrayContaining(['billing-agent', 'support-agent']));
    await page.getByPlaceholder('Tenant', { exact: true }).fill('no such tenant');
    await page.getByText('No matching keys').waitFor();
  });

  it("edits a key's label or expiry, and sends only the changed field", async () => {
    const { id } = await fixture().createKey({ label: 'before' });
    const page = await open();
    const sent: unknown[] = [];
    page.on('request', (request) => {
      if (request.method() === 'PATCH') sent.push(request.postDataJSON());
    });
    const edit = (label: string) => row(page, label).getByRole('button', { name: 'Edit…' }).click();
    const save = dialog(page).getByRole('button', { name: 'Save' });
    const expiry = async () => {
      const [key] = await fixture().service.query(
        `SELECT label, to_char(expires_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI') AS expires,
           round(extract(epoch FROM expires_at - now()) / 86400)::integer AS days FROM api_keys WHERE id = $1`,
        [id],
      );
      return key;
    };
    await edit('before');
    expect(await save.isDisabled()).toBe(true);
    await dialog(page).getByLabel('Label').fill('after');
    await save.click();
    await page.getByText('Saved the key.').waitFor();
    await row(page, 'after').waitFor();
    expect(await expiry()).toStrictEqual({ label: 'after', expires: null, days: null });

    await edit('after');
    await dialog(page).getByRole('combobox', { name: 'Expires' }).selectOption('At a time…');
    expect(await save.isDisabled()).toBe(true);
    await dialog(page).getByLabel('Expires at').fill('2020-01-01T00:00');
    await save.click();
    const problem = 'The field expires_at must be in the future.';
    expect(await dialog(page).getByRole('alert').textContent()).toBe(problem);
    await dialog(page).getByLabel('Expires at').fill('2099-01-01T00:00');
    await save.click();
    await expect.poll(() => dialog(page).count()).toBe(0);
    expect(await expiry()).toMatchObject({ label: 'after', expires: '2099-01-01 00:00' });
    await edit('after');
    expect(await dialog(page).getByLabel('Expires at').inputValue()).toBe('2099-01-01T00:00');
    await dialog(page).getByRole('combobox', { name: 'Expires' }).selectOption('In 30 days');
    await save.click();
    await expect.poll(() => dialog(page).count()).toBe(0);
    expect(await expiry()).toMatchObject({ label: 'after', days: 30 });
    await edit('after');
    await dialog(page).getByRole('combobox', { name: 'Expires' }).selectOption('Never');
    await save.click();
    await expect.poll(() => dialog(page).count()).toBe(0);
    expect(await expiry()).toStrictEqual({ label: 'after', expires: null, days: null });
    expect(sent).toStrictEqual([
      { label: 'after' },
      { expires_at: '2020-01-01T00:00:00.000Z' },
      { expires_at: '2099-01-01T00:00:00.000Z' },
      { expires_at: expect.any(String) },
      { expires_at: null },
    ]);
  });

  it('closes the dialog only when the list shows the saved key', async () => {
    await fixture().createKey({ label: 'stale' });
    const page = await open();
    await row(page, 'stale').getByRole('button', { name: 'Edit…' }).click();
    await dialog(page).getByLabel('Label').fill('current');
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const keys = /\/v1\/keys\?/;
    await page.route(keys, (listing) => held.then(() => listing.continue()));
    const reload = page.waitForRequest(keys);
    await dialog(page).getByRole('button', { name: 'Save' }).click();
    await reload;
    expect(await dialog(page).count()).toBe(1);
    release();
    await expect.poll(() => dialog(page).count()).toBe(0);
    expect(await row(page, 'current').count()).toBe(1);
  });

  it('shows the new label in the header after a session renames its own key', async () => {
    const { key } = await fixture().createKey({ label: 'old name' });
    const page = await fixture().open(await fixture().newContext(), '#/keys');
    await signIn(page, key);
    await row(page, 'old name').getByRole('button', { name: 'Edit…' }).click();
    await dialog(page).getByLabel('Label').fill('new name');
    // Leaving asks before the change is saved.
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Keep editing' }).click();
    await dialog(page).getByRole('button', { name: 'Save' }).click();
    await page.getByText('key new name').waitFor();
    await row(page, 'new name').waitFor();
  });

  it('rejects an edit to a key after it was revoked', async () => {
    const { id } = await fixture().createKey({ label: 'gone' });
    const page = await open();
    await row(page, 'gone').getByRole('button', { name: 'Edit…' }).click();
    await fixture().service.query('UPDATE api_keys SET revoked_at = now() WHERE id = $1', [id]);
    await dialog(page).getByLabel('Label').fill('back');
    await dialog(page).getByRole('button', { name: 'Save' }).click();
    expect(await dialog(page).getByRole('alert').textContent()).toBe(
      `Key ${id} does not exist or is already revoked.`,
    );
    await page.reload();
    await row(page, 'gone').waitFor();
    expect(await row(page, 'gone').getByRole('button').allTextContents()).toStrictEqual(['Writes… gone']);
  });

  it('hides the buttons to create, edit, and rotate keys from a read-only key', async () => {
    await fixture().createKey({ label: 'seen' });
    const page = await fixture().openSignedIn('#/keys', { access: 'read_only' });
    await row(page, 'seen').waitFor();
    expect(await page.getByRole('button', { name: /New key|Edit|Rotate|Revoke/ }).count()).toBe(0);
  });
});
