/**
 * Texts that an operator keeps out of memories, on every way by which text enters a memory.
 *
 * @module-tag long-on-pglite
 */
import { expect, it, onTestFinished, vi } from 'vitest';
import { loadConfig } from '../../src/core/config.ts';
import { KeptOutLists } from '../../src/core/tenants/kept-out-lists.ts';
import { useAdmin } from '../support/admin.ts';
import { assertInvariants } from '../support/invariants.ts';
import { sdk, storeKey } from '../support/memory-stores.ts';
import { runOn } from '../support/run-program.ts';
import { cmd } from '../support/step-table.ts';
import {
  describeService,
  describeServiceOnOwnDatabase,
  freshTenant,
  type Service,
} from '../support/test-service.ts';

const TEXT = 'Ana lives at 12 Elm Street';
const OTHER_WAY = 'ana  LIVES\nat １２ elm street';
const REJECTED =
  'Error: Nothing was written: the text contains a text that an operator keeps out of this memory. Leave it out and try again.';

/** Returns the rows in all tables that contain a text. */
async function rowsWith(service: Service, text: string): Promise<unknown[]> {
  const tables = await service.query(
    "SELECT relname AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' ORDER BY 1",
  );
  const found: unknown[] = [];
  for (const { name } of tables) {
    found.push(
      ...(await service.query(
        `SELECT '${name}' AS name, t::text AS row FROM ${name} AS t WHERE strpos(lower(t::text), lower($1)) > 0`,
        [text],
      )),
    );
  }
  return found;
}

describeService('texts that are kept out of one tenant', (service) => {
  const admin = useAdmin(service);
  const tenantWithout = async (text: string, properties: object = {}) => {
    const tenant = freshTenant();
    const { status } = await admin().call('POST', '/tenants', { body: { id: tenant, ...properties } });
    expect(status).toBe(201);
    const added = await admin().call('POST', `/tenants/${tenant}/kept-out`, {
      body: { text, label: 'incident 42' },
    });
    expect(added).toMatchObject({
      status: 201,
      body: {
        tokens: 6,
        label: 'incident 42',
        created_by: { type: 'admin_key', id: admin().key.id, label: 'control plane' },
      },
    });
    return { tenant, id: String(added.body.id) };
  };
  const send = async (tenant: string, input: object) => (await service().execute(input, { tenant })).content;

  it('rejects a write or edit that results in a kept-out text if the secrets setting is store', async () => {
    const { tenant } = await tenantWithout(TEXT);
    expect(await send(tenant, cmd.create('/memories/f', `so ${OTHER_WAY}.`))).toBe(REJECTED);
    expect(await send(tenant, cmd.create('/memories/f', 'Ana lives at -\n12 Elm Road'))).toContain('created');
    expect(await send(tenant, cmd.replace('/memories/f', '-', OTHER_WAY))).toBe(REJECTED);
    expect(await send(tenant, cmd.insert('/memories/f', 1, TEXT))).toBe(REJECTED);
    expect(await send(tenant, cmd.replace('/memories/f', 'Road', 'Street'))).toContain('edited');
    expect(await send(tenant, cmd.replace('/memories/f', ' -\n', ' '))).toBe(REJECTED);
    expect(await send(tenant, cmd.create(`/memories/${TEXT}`, 'x'))).toBe(
      'Error: Nothing was written: the path contains a text that an operator keeps out of this memory. Leave it out and try again.',
    );
    expect(await send(tenant, cmd.rename('/memories/f', `/memories/${TEXT}/f`))).toContain(
      'the path contains',
    );
    expect(await send(tenant, cmd.view('/memories/f'))).toContain('Ana lives at -\n     2\t12 Elm Street');
    expect(await send(freshTenant(), cmd.create('/memories/f', TEXT))).toContain('created');
    await assertInvariants(service());
  });

  it('returns no next page if the last entry fills the page', async () => {
    const { tenant, id } = await tenantWithout(TEXT);
    const { body } = await admin().call('GET', `/tenants/${tenant}/kept-out?limit=1`);
    expect(body).toMatchObject({ entries: [{ id }], next: null });
  });

  it('masks a kept-out text if the secrets setting is mask', async () => {
    const { tenant } = await tenantWithout(TEXT, { settings: { secrets: 'mask' } });
    expect(await send(tenant, cmd.create('/memories/f', `so ${OTHER_WAY}.`))).toBe(
      'File created successfully at: /memories/f\n[1 secret was masked before storing: kept_out]',
    );
    expect(await send(tenant, cmd.view('/memories/f'))).toContain('so [REDACTED:kept_out].');
    expect(await send(tenant, cmd.replace('/memories/f', TEXT, 'x'))).toBe(
      'No replacement was performed, old_str `[REDACTED:kept_out]` did not appear verbatim in /memories/f.',
    );
  });

  it('rejects a kept-out text in a file from the admin API, an import, or the Memory Stores API', async () => {
    const { tenant } = await tenantWithout(TEXT);
    const put = await admin().call('PUT', `/tenants/${tenant}/file?path=/memories/f`, {
      body: TEXT,
      type: 'text/plain',
      headers: { 'if-none-match': '*' },
    });
    expect([put.status, put.body.detail]).toStrictEqual([
      409,
      'The content contains a text that an operator keeps out of this memory. Remove it and try again.',
    ]);
    const other = freshTenant();
    await send(other, cmd.create('/memories/f', TEXT));
    const exported = await runOn(service(), ['export', other]);
    const imported = await runOn(service(), ['import', tenant, '-'], {
      stdin: Buffer.from(exported.stdout, 'latin1'),
    });
    expect([imported.code, imported.stderr]).toStrictEqual([
      1,
      expect.stringContaining(
        'it contains a text that an operator keeps out of this memory. Remove the text.',
      ),
    ]);
    const client = sdk(service(), await storeKey(service()));
    const created = client.beta.memoryStores.memories.create(tenant, { path: '/f', content: TEXT });
    await expect(created).rejects.toThrow(
      'content: it contains a text that an operator keeps out of this memory.',
    );
    expect(await send(tenant, cmd.view('/memories'))).not.toContain('/memories/f');
  });

  const createDraft = async (tenant: string) =>
    String((await admin().call('POST', `/tenants/${tenant}/drafts`, { body: { title: 'tidy' } })).body.id);
  /** Adds the text to a draft in a tenant that then keeps it out. */
  const draftWithText = async () => {
    const tenant = freshTenant();
    await send(tenant, cmd.create('/memories/f', 'x'));
    const id = await createDraft(tenant);
    await send(id, cmd.create('/memories/g', TEXT));
    await admin().call('POST', `/tenants/${tenant}/kept-out`, { body: { text: TEXT } });
    return { tenant, id };
  };

  it.each([
    [
      'merge',
      'The draft would add a text that an operator keeps out of this memory to /memories/g. Nothing was changed.',
    ],
    ['replace', 'would add a text that an operator keeps out of this memory to /memories/g.'],
  ])('rejects the request to %s if the draft adds a kept-out text', async (action, detail) => {
    const { tenant, id } = await draftWithText();
    const { body } = await admin().call('GET', `/tenants/${tenant}/drafts/${id}/changes`);
    const answer = await admin().call('POST', `/tenants/${tenant}/drafts/${id}/${action}`, {
      body: { review: body.review },
    });
    expect([answer.status, answer.body.detail]).toStrictEqual([409, expect.stringContaining(detail)]);
  });

  it('warns if a restore brings a kept-out text back', async () => {
    const tenant = freshTenant();
    await send(tenant, cmd.create('/memories/f', `so ${OTHER_WAY}.`));
    await send(tenant, cmd.create('/memories/g', 'x'));
    for (const path of ['/memories/f', '/memories/g']) await send(tenant, cmd.delete(path));
    await admin().call('POST', `/tenants/${tenant}/kept-out`, { body: { text: TEXT } });
    const { body } = await admin().call('GET', `/tenants/${tenant}/versions?operation=created`);
    const [, first] = body.versions as { id: string }[];
    const restoreFirst = (dryRun: boolean) =>
      admin().call('POST', `/tenants/${tenant}/restore`, { body: { version: first?.id, dry_run: dryRun } });
    for (const dryRun of [true, false])
      expect(await restoreFirst(dryRun)).toMatchObject({ status: 200, body: { kept_out: ['/memories/f'] } });
    await send(tenant, cmd.delete('/memories/f'));
    const printed = await runOn(service(), ['restore', tenant, '--version', String(first?.id)]);
    expect(printed).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('Warning: /memories/f contains a text that is kept out.'),
    });
  });

  it('warns if a restore in a draft brings back a text that is kept out of the tenant', async () => {
    const { id } = await draftWithText();
    await send(id, cmd.delete('/memories/g'));
    const { body } = await admin().call('GET', `/tenants/${id}/versions?operation=created&path=/memories/g`);
    const [version] = body.versions as { id: string }[];
    const restored = await admin().call('POST', `/tenants/${id}/restore`, { body: { version: version?.id } });
    expect(restored).toMatchObject({ status: 200, body: { kept_out: ['/memories/g'] } });
  });

  it("rejects a text in a tenant's drafts if the text is kept out of the tenant", async () => {
    const { tenant } = await tenantWithout(TEXT);
    expect(await send(await createDraft(tenant), cmd.create('/memories/g', TEXT))).toBe(REJECTED);
  });

  it('lists entries without their texts, keeps them when the tenant is renamed, and can remove them', async () => {
    const text = 'Bo moved to 7 Oak Lane';
    const { tenant, id } = await tenantWithout(text);
    const again = await admin().call('POST', `/tenants/${tenant}/kept-out`, {
      body: { text: text.toUpperCase() },
    });
    expect(again.body.id).toBe(id);
    const renamed = freshTenant();
    await admin().call('POST', `/tenants/${tenant}/rename`, { body: { to: renamed } });
    const listed = await admin().call('GET', `/tenants/${renamed}/kept-out`);
    expect(listed.body).toMatchObject({ entries: [{ id, tokens: 6, label: 'incident 42' }], next: null });
    expect(await rowsWith(service(), 'moved to 7')).toStrictEqual([]);
    const removed = await runOn(service(), ['keep-out', 'remove', id, renamed]);
    expect(removed).toMatchObject({ code: 0, stderr: `The text of ${id} is allowed again.\n` });
    expect(await send(renamed, cmd.create('/memories/f', text))).toContain('created');
    const unknown = await admin().call('DELETE', `/tenants/${renamed}/kept-out/${id}`);
    expect([unknown.status, unknown.body.detail]).toStrictEqual([
      404,
      `The entry ${id} does not exist in this list.`,
    ]);
    await admin().call('DELETE', `/tenants/${renamed}`);
  });

  it("removes a deleted tenant's kept-out texts", async () => {
    const { tenant, id } = await tenantWithout(TEXT);
    expect((await admin().call('DELETE', `/tenants/${tenant}`)).status).toBeLessThan(300);
    expect(await service().query('SELECT id FROM kept_out WHERE id = $1::text::uuid', [id])).toStrictEqual(
      [],
    );
  });

  it('rejects an entry if its text is too short or too long or its tenant does not exist', async () => {
    const tenant = freshTenant();
    await admin().call('POST', '/tenants', { body: { id: tenant } });
    const add = async (text: string, to = tenant) => {
      const { status, body } = await admin().call('POST', `/tenants/${to}/kept-out`, { body: { text } });
      return [status, body.detail];
    };
    expect(await add('a, b')).toStrictEqual([
      400,
      'The text has less than 4 bytes of letters and digits. It would occur in too many other texts.',
    ]);
    expect(await add('word '.repeat(300))).toStrictEqual([
      400,
      'The text has more than 256 words and punctuation marks. Choose its most distinctive part.',
    ]);
    expect(await add(TEXT, 'unknown-tenant')).toStrictEqual([404, 'Tenant unknown-tenant does not exist.']);
  });
});

describeServiceOnOwnDatabase('texts that are kept out of all tenants', (service) => {
  const admin = useAdmin(service);
  const addText = async (text: string) => {
    const { status, body } = await admin().call('POST', '/kept-out', { body: { text } });
    expect(status).toBe(201);
    return { id: String(body.id) };
  };

  it('rejects a text in all memories on all replicas until the text is allowed again', async () => {
    const replica = new KeptOutLists(service().database, loadConfig({}));
    const tenant = freshTenant();
    expect(await replica.textsFor({ id: tenant, draftOf: null })).toBeUndefined();
    const added = await runOn(service(), ['keep-out', 'add', '--from', '-'], { stdin: TEXT });
    expect(added).toMatchObject({ code: 0, stderr: expect.stringContaining('Kept out of all tenants') });
    const id = added.stdout.trim();
    expect(
      await (await replica.textsFor({ id: tenant, draftOf: null }))?.scan(`so ${OTHER_WAY}`),
    ).toStrictEqual([{ kind: 'kept_out', start: 3, end: 30 }]);
    const made = await service().execute(cmd.create('/memories/f', TEXT), { tenant });
    expect(made.content).toBe(REJECTED);
    const listed = await admin().call('GET', '/kept-out');
    expect(listed.body).toMatchObject({ entries: [{ id, tokens: 6, label: '' }], next: null });
    expect((await admin().call('DELETE', `/kept-out/${id}`)).status).toBe(204);
    expect(await replica.textsFor({ id: tenant, draftOf: null })).toBeUndefined();
  });

  it('applies a new entry to a tenant with a cached policy as soon as the replica has read the entry', async () => {
    const tenant = freshTenant();
    const send = (to: string, input: object) => service().execute(input, { tenant: to });
    await send(tenant, cmd.create('/memories/f', 'x'));
    const { id } = await addText('Cy drives a blue van');
    // The other tenant's policy reads the changes.
    await send(freshTenant(), cmd.create('/memories/f', 'x'));
    expect((await send(tenant, cmd.create('/memories/g', 'cy drives a blue van'))).content).toBe(REJECTED);
    await admin().call('DELETE', `/kept-out/${id}`);
  });

  it('reads the entries again before a write if AUTH_CACHE_SECONDS have passed', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const lists = new KeptOutLists(service().database, loadConfig({}));
    const tenant = { id: freshTenant(), draftOf: null };
    const before = (await lists.textsFor(tenant)) === undefined ? 0 : 1;
    const { id } = await addText('Cy drives a blue van');
    const countFinds = async () =>
      (await (await lists.recentTextsFor(tenant))?.scan('cy drives a blue van'))?.length ?? 0;
    vi.advanceTimersByTime(9_999);
    expect([before, await countFinds()]).toStrictEqual([0, 0]);
    vi.advanceTimersByTime(1);
    expect(await countFinds()).toBe(1);
    await admin().call('DELETE', `/kept-out/${id}`);
  });

  it('reads only the entries that changed since the last read', async () => {
    const { database } = service();
    const read: unknown[] = [];
    const query: typeof database.query = async (statement, params) => {
      const result = await database.query(statement, params);
      if (statement.name === 'list_kept_out_changes') read.push(...result.rows);
      return result;
    };
    const lists = new KeptOutLists({ query }, loadConfig({}));
    const added: string[] = [];
    for (let i = 0; i < 3; i++) added.push((await addText(`Ana lives at ${i} Elm Street`)).id);
    const countFinds = async (i: number) =>
      (await (await lists.textsFor({ id: 'x', draftOf: null }))?.scan(`ana lives at ${i} elm street`))
        ?.length;
    expect([await countFinds(0), await countFinds(2)]).toStrictEqual([1, 1]);
    read.length = 0;
    await addText('Bo lives at 3 Elm Street');
    await admin().call('DELETE', `/kept-out/${added[0]}`);
    expect([await countFinds(0), await countFinds(2), read.length]).toStrictEqual([0, 1, 2]);
    expect((await service().query('SELECT * FROM kept_out WHERE removed IS NOT NULL'))[0]).toMatchObject({
      prefix: 0,
      label: '',
    });
    await addText('Ana lives at 0 Elm Street');
    expect([await countFinds(0), await countFinds(2), read.length]).toStrictEqual([1, 1, 3]);
  });

  it("applies a tenant's entries after the tenant is renamed, copied, or deleted and created again", async () => {
    const { database } = service();
    const lists = new KeptOutLists(database, loadConfig({}));
    const [first, second, third] = [freshTenant(), freshTenant(), freshTenant()];
    const countFinds = async (id: string) =>
      (await (await lists.textsFor({ id, draftOf: null }))?.scan(`at 9 oak lane`))?.length ?? 0;
    await admin().call('POST', '/tenants', { body: { id: first } });
    await admin().call('POST', `/tenants/${first}/kept-out`, { body: { text: 'at 9 Oak Lane' } });
    expect(await countFinds(first)).toBe(1);
    await admin().call('POST', `/tenants/${first}/rename`, { body: { to: second } });
    expect([await countFinds(first), await countFinds(second)]).toStrictEqual([0, 1]);
    await admin().call('POST', `/tenants/${second}/copy`, { body: { to: third } });
    expect([await countFinds(second), await countFinds(third)]).toStrictEqual([1, 1]);
    await admin().call('DELETE', `/tenants/${second}`);
    expect([await countFinds(second), await countFinds(third)]).toStrictEqual([0, 1]);
    await admin().call('POST', '/tenants', { body: { id: second } });
    await admin().call('POST', `/tenants/${second}/kept-out`, { body: { text: 'at 9 Oak Lane' } });
    const other = new KeptOutLists(database, loadConfig({}));
    const texts = await other.textsFor({ id: second, draftOf: null });
    expect([await countFinds(second), (await texts?.scan('at 9 oak lane'))?.length]).toStrictEqual([1, 1]);
  });

  it('requires the same INSTALLATION_SECRET in every process while any text is kept out', async () => {
    await service().query('DELETE FROM kept_out');
    const env = { INSTALLATION_SECRET: 'one secret of more than 32 characters' };
    const other = { INSTALLATION_SECRET: 'another secret, of 32 characters too' };
    const add = (given: Record<string, string>) =>
      runOn(service(), ['keep-out', 'add', '--from', '-'], { stdin: TEXT, env: given });
    const added = await add(env);
    expect(added.code).toBe(0);
    const message =
      'INSTALLATION_SECRET is not the secret with which texts are kept out in this database. Set the earlier value again.';
    for (const given of [other, {}] as Record<string, string>[]) {
      expect(await add(given)).toMatchObject({ code: 1, stderr: `memory-service: ${message}\n` });
      const lists = new KeptOutLists(service().database, loadConfig(given));
      await expect(lists.check()).rejects.toThrow(message);
    }
    const made = await service().execute(cmd.create('/memories/f', 'x'), { tenant: freshTenant() });
    expect([made.status, made.body.code]).toStrictEqual([503, 'installation_secret_differs']);
    const removed = await runOn(service(), ['keep-out', 'remove', added.stdout.trim()], { env });
    expect(removed.code).toBe(0);
    expect((await add(other)).code).toBe(0);
  });
});
