/**
 * Redaction of a text from every table.
 *
 * @module-tag long-on-pglite
 */
import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { History } from '../../src/core/history/history.ts';
import { eraseDirectories, eraseVersion } from '../../src/core/history/redact.ts';
import { restoreAt } from '../../src/core/history/restore.ts';
import type { Version } from '../../src/core/history/version.ts';
import type { MemoryPath } from '../../src/core/memory/path.ts';
import { requestKey } from '../../src/core/tenants/stored-results.ts';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { Drafting } from '../support/drafting.ts';
import { assertInvariants } from '../support/invariants.ts';
import { cmd } from '../support/step-table.ts';
import { describeService, freshTenant, type Service } from '../support/test-service.ts';

const origin = { actor: { type: 'operator', name: 'ada' } } as const;
const SECRET = 'hunter2-of-the-vault';

async function readVersions(service: Service, tenant: string): Promise<Version[]> {
  const all: Version[] = [];
  for await (const version of new History(service.database).versions(tenant)) all.push(version);
  return all.reverse();
}

async function run(service: Service, tenant: string, ...steps: object[]): Promise<void> {
  for (const step of steps) {
    const { body } = await service.execute(step, { tenant });
    expect(body).toMatchObject({ is_error: false });
  }
}

/**
 * Returns the columns in all tables that contain a text. The text must not contain characters that Postgres escapes in
 * a row.
 */
async function columnsWith(service: Service, text: string): Promise<string[]> {
  const columns = await service.query(
    `SELECT table_schema || '.' || table_name AS table_name, column_name FROM information_schema.columns JOIN information_schema.tables USING (table_schema, table_name)
     WHERE table_type = 'BASE TABLE' AND table_schema IN ('public', 'drizzle') ORDER BY 1, 2`,
  );
  expect(columns.length).toBeGreaterThan(50);
  const contains = async (table: unknown, value: string) => {
    const sql = `SELECT 1 FROM ${table} AS r WHERE strpos(${value}::text, $1::text) > 0 LIMIT 1`;
    return (await service.query(sql, [text])).length > 0;
  };
  const matches = new Set<unknown>();
  for (const table of new Set(columns.map(({ table_name }) => table_name)))
    if (await contains(table, 'r')) matches.add(table);
  const found: string[] = [];
  for (const { table_name: table, column_name: column } of columns)
    if (matches.has(table) && (await contains(table, `"${column}"`))) found.push(`${table}.${column}`);
  return found;
}

describeService('redacting a version', (service) => {
  const drafting = new Drafting(service);
  it("deletes a redacted version's content from every table", async () => {
    const tenant = freshTenant('redact');
    const secret = `${SECRET}-${randomUUID()}`;
    const f = '/memories/notes.md';
    const block = { type: 'tool_use', id: randomUUID(), name: 'memory', input: cmd.insert(f, 1, 'two\n') };
    await run(service(), tenant, cmd.create(f, `one ${secret}\n`));
    const first = await service().execute(block, { tenant });
    const wrong = cmd.replace(f, `not ${secret}`, 'x');
    const failing = { type: 'tool_use', id: randomUUID(), name: 'memory', input: wrong };
    expect((await service().execute(failing, { tenant })).is_error).toBe(true);
    const edit = { type: 'tool_use', id: randomUUID(), name: 'memory', input: cmd.replace(f, 'two', '2') };
    expect((await service().execute(edit, { tenant })).content).toContain(secret);
    await run(
      service(),
      tenant,
      cmd.rename(f, '/memories/moved.md'),
      cmd.replace('/memories/moved.md', secret, ''),
    );
    expect(await columnsWith(service(), secret)).toStrictEqual([
      'public.idempotency_keys.content',
      'public.versions.content',
    ]);

    const [created, inserted, edited, moved, head] = await readVersions(service(), tenant);
    const redact = (version: Version | undefined) =>
      eraseVersion(service().database, tenant, String(version?.id), origin);
    expect(await redact(created)).toStrictEqual({ versions: 1, samePath: 2, storedResults: 3, drafts: [] });
    expect(await redact(inserted)).toStrictEqual({ versions: 1, samePath: 1, storedResults: 0, drafts: [] });
    // The rename shares the edit's content.
    expect(moved?.contentSha256).toBe(edited?.contentSha256);
    expect(await redact(edited)).toStrictEqual({ versions: 2, samePath: 0, storedResults: 0, drafts: [] });
    expect(await columnsWith(service(), secret)).toStrictEqual([]);
    await assertInvariants(service());

    const redacted = { path: null, contentSha256: null, contentSizeBytes: null };
    const by = { redactedAt: expect.any(String), redactedBy: origin.actor };
    expect(await readVersions(service(), tenant)).toMatchObject([
      ...[created, inserted, edited, moved].map((each) => ({ ...redacted, ...by, id: each?.id })),
      { id: head?.id, path: '/memories/moved.md', redactedAt: null },
    ]);
    const text = '[Redacted: the answer to this request was removed.]';
    expect(first.content).not.toBe(text);
    for (const [request, isError] of [
      [block, false],
      [failing, true],
    ] as const) {
      const { content, is_error } = await service().execute(request, { tenant });
      expect({ content, is_error }).toStrictEqual({ content: text, is_error: isError });
    }
    // The requests were not executed again.
    expect(await readVersions(service(), tenant)).toHaveLength(5);
  });

  it("deletes a redacted version's path, and directories that contained no other file", async () => {
    const tenant = freshTenant('redact');
    const secret = `${SECRET}-${randomUUID()}`;
    await run(
      service(),
      tenant,
      cmd.create('/memories/kept/f', 'f'),
      cmd.create(`/memories/kept/d-${secret}/e/g`, 'g'),
      cmd.create(`/memories/kept/d-${secret}/empty/h`, 'h'),
      cmd.rename(`/memories/kept/d-${secret}/empty/h`, '/memories/h'),
      cmd.delete(`/memories/kept/d-${secret}`),
      cmd.delete('/memories/h'),
      cmd.delete('/memories/kept'),
    );
    expect(await columnsWith(service(), secret)).toStrictEqual([
      'public.past_directories.path',
      'public.versions.path',
    ]);
    for (const { id, path } of await readVersions(service(), tenant)) {
      if (path?.includes(secret)) await eraseVersion(service().database, tenant, id, origin);
    }
    expect(await columnsWith(service(), secret)).toStrictEqual([]);
    expect(
      await service().query('SELECT path FROM past_directories WHERE tenant_id = $1', [tenant]),
    ).toStrictEqual([{ path: '/memories/kept' }]);
    await assertInvariants(service());
  });

  it.each([0, 1])('redacts all versions with the same content when redacting version %i', async (chosen) => {
    const tenant = freshTenant('redact');
    const secret = `${SECRET}-${randomUUID()}`;
    await run(
      service(),
      tenant,
      cmd.create(`/memories/d-${secret}/e/f`, 'f'),
      cmd.rename(`/memories/d-${secret}/e/f`, `/memories/f-${secret}`),
      cmd.delete(`/memories/d-${secret}`),
      cmd.delete(`/memories/f-${secret}`),
    );
    const versions = await readVersions(service(), tenant);
    const redact = (version: Version | undefined) =>
      eraseVersion(service().database, tenant, String(version?.id), origin);
    expect(await redact(versions[chosen])).toStrictEqual({
      versions: 2,
      samePath: 1,
      storedResults: 0,
      drafts: [],
    });
    expect(await columnsWith(service(), secret)).toStrictEqual(['public.versions.path']);
    expect(await redact(versions[2])).toStrictEqual({
      versions: 1,
      samePath: 0,
      storedResults: 0,
      drafts: [],
    });
    expect(await columnsWith(service(), secret)).toStrictEqual([]);
    await assertInvariants(service());
  });

  /** Returns each version's content by its ID. */
  const readContents = async (tenant: string): Promise<Map<string, string | null>> => {
    const history = new History(service().database);
    const all = await readVersions(service(), tenant);
    const contents = await Promise.all(
      all.map(async ({ id }) => (await history.requireWithContent(tenant, id)).content),
    );
    return new Map(all.map(({ id }, i) => [id, contents[i] ?? null]));
  };

  /** Redacts every version that contains a text, in the given order, and expects all other contents to be unchanged. */
  const redactAll = async (tenant: string, text: string, order: (ids: string[]) => string[]) => {
    const before = await readContents(tenant);
    const paths = new Map((await readVersions(service(), tenant)).map(({ id, path }) => [id, path]));
    const holds = (id: string) => `${before.get(id)} ${paths.get(id)}`.includes(text);
    const ids = [...before.keys()].filter(holds);
    expect(ids.length).toBeGreaterThan(0);
    for (const id of order(ids)) await eraseVersion(service().database, tenant, id, origin);
    await assertInvariants(service());
    const after = await readContents(tenant);
    for (const [id, content] of before)
      expect([id, after.get(id)]).toStrictEqual([id, holds(id) ? null : content]);
    expect(await columnsWith(service(), text)).toStrictEqual([]);
    return ids.length;
  };

  const f = '/memories/f.md';
  const LINES = Array.from({ length: 40 }, (_, n) => `line ${n}\n`).join('');
  /** Edits that add a secret to some versions of a file and remove it again. */
  const LIVES: Record<string, (secret: string) => object[]> = {
    'in middle versions': (secret) => [
      cmd.create(f, LINES),
      cmd.insert(f, 20, `${secret}\n`),
      cmd.insert(f, 0, 'first\n'),
      cmd.replace(f, 'line 39', 'last'),
      cmd.replace(f, `${secret}\n`, ''),
      cmd.insert(f, 0, 'zeroth\n'),
    ],
    'in the removed text of one splice': (secret) => [
      cmd.create(f, `${LINES}${secret}\n`),
      cmd.replace(f, `line 38\nline 39\n${secret}\n`, 'end\n'),
      cmd.replace(f, 'line 1\n', ''),
    ],
    'put together by two edits': (secret) => [
      cmd.create(f, LINES),
      cmd.insert(f, 3, `${secret.slice(0, 20)}\n`),
      cmd.replace(f, secret.slice(0, 20), secret),
      cmd.replace(f, `${secret}\n`, ''),
    ],
    'in a file that is renamed and deleted': (secret) => [
      cmd.create(f, `${LINES}${secret}\n`),
      cmd.rename(f, '/memories/g.md'),
      cmd.insert('/memories/g.md', 0, 'first\n'),
      cmd.rename('/memories/g.md', '/memories/h.md'),
      cmd.delete('/memories/h.md'),
    ],
    'that creates overwrote': (secret) => [
      cmd.create(f, 'one'),
      cmd.create(f, `two ${secret}`),
      cmd.create(f, `three ${secret} and more`),
      cmd.create(f, 'four'),
      cmd.create(f, 'five'),
    ],
    'in paths and contents': (secret) => [
      cmd.create(`/memories/${secret}/f`, LINES),
      cmd.insert(`/memories/${secret}/f`, 0, `${secret}\n`),
      cmd.rename(`/memories/${secret}/f`, f),
      cmd.delete(`/memories/${secret}`),
      cmd.replace(f, secret, 'public'),
    ],
  };
  const ORDERS: [string, (ids: string[]) => string[]][] = [
    ['the oldest version first', (ids) => ids],
    ['the newest version first', (ids) => ids.toReversed()],
  ];

  it.each(
    Object.entries(LIVES).flatMap(([name, steps]) => ORDERS.map((order) => [name, ...order, steps] as const)),
  )(
    'deletes a secret %s and keeps all other content when redacting %s',
    async (_name, _order, order, steps) => {
      const tenant = freshTenant('redact');
      const tenants = new Tenants(service().database);
      await tenants.create(tenant);
      await tenants.set(tenant, { createExisting: 'overwrite' });
      const secret = `${SECRET}-${randomUUID()}`;
      await run(service(), tenant, ...steps(secret));
      await redactAll(tenant, secret, order);
    },
  );

  it.each(ORDERS)('deletes a restored secret when redacting %s', async (_order, order) => {
    const tenant = freshTenant('redact');
    const secret = `${SECRET}-${randomUUID()}`;
    await run(service(), tenant, cmd.create(f, `${LINES}${secret}\n`), cmd.replace(f, `${secret}\n`, ''));
    const [created, edited] = await readVersions(service(), tenant);
    const defaults = { maxFiles: 0, maxBytes: 0, historyDays: 30, maxHistoryBytes: 0 };
    const restore = (version: Version | undefined) =>
      restoreAt(
        service().database,
        tenant,
        { path: f as MemoryPath, at: String(version?.createdAt) },
        { origin, defaults, keptOut: undefined, dryRun: false },
      );
    expect((await restore(created)).files).toHaveLength(1);
    await run(service(), tenant, cmd.insert(f, 0, 'first\n'), cmd.delete(f));
    expect((await restore(created)).files).toHaveLength(1);
    expect((await restore(edited)).files).toHaveLength(1);
    expect(await redactAll(tenant, secret, order)).toBe(4);
  });

  it('deletes the request hashes that would reveal a short secret to a brute-force search', async () => {
    const tenant = freshTenant('redact');
    const create = (pin: number) => cmd.create(f, `PIN: ${String(pin).padStart(4, '0')}`);
    const pin = Math.floor(Math.random() * 10_000);
    const headers = { 'idempotency-key': 'k' };
    expect((await service().execute(create(pin), { tenant, headers })).is_error).toBe(false);
    await run(service(), tenant, cmd.delete(f));
    const tried = Array.from({ length: 10_000 }, (_, n) => requestKey('k', create(n)).requestHash);
    const findHashes = async () =>
      (await service().query('SELECT request_hash FROM idempotency_keys WHERE tenant_id = $1', [tenant])).map(
        ({ request_hash }) => tried.indexOf(String(request_hash)),
      );
    expect(await findHashes()).toStrictEqual([pin]);
    const [created] = await readVersions(service(), tenant);
    await eraseVersion(service().database, tenant, String(created?.id), origin);
    expect(await findHashes()).toStrictEqual([-1]);
    // The retried request is not executed again.
    const again = await service().execute(create(pin), { tenant, headers });
    expect(again.content).toBe('[Redacted: the answer to this request was removed.]');
  });

  it("keeps an existing directory's name until the directory is renamed and redacted", async () => {
    const tenant = freshTenant('redact');
    const secret = `${SECRET}-${randomUUID()}`;
    const top = `/memories/d-${secret}`;
    await run(
      service(),
      tenant,
      cmd.create(`${top}/e/f`, 'x'),
      cmd.rename(`${top}/e/f`, '/memories/f'),
      cmd.replace('/memories/f', 'x', 'y'),
    );
    const [created] = await readVersions(service(), tenant);
    await eraseVersion(service().database, tenant, String(created?.id), origin);
    const rename = cmd.rename(top, '/memories/empty');
    expect((await service().execute(rename, { tenant, headers: { 'idempotency-key': 'k' } })).is_error).toBe(
      false,
    );
    expect(await columnsWith(service(), secret)).toStrictEqual([
      'public.idempotency_keys.content',
      'public.past_directories.path',
    ]);
    expect(await eraseDirectories(service().database, tenant, top as MemoryPath)).toStrictEqual({
      directories: 2,
      storedResults: 1,
    });
    expect(await columnsWith(service(), secret)).toStrictEqual([]);
    await assertInvariants(service());
  });

  it('rejects redacting a current version, or a version with the same content as a current file', async () => {
    const tenant = freshTenant('redact');
    await run(service(), tenant, cmd.create('/memories/f', 'x'), cmd.rename('/memories/f', '/memories/g'));
    const [created, head] = await readVersions(service(), tenant);
    const redact = (version: string) => eraseVersion(service().database, tenant, version, origin);
    await expect(redact(String(head?.id))).rejects.toThrow(
      `Version ${head?.id} is live. Edit or delete the file first, then redact this version.`,
    );
    await expect(redact(String(created?.id))).rejects.toThrow(
      `Version ${created?.id} has the same content as a live file (version ${head?.id}).`,
    );
    for (const unknown of [randomUUID(), 'x', '']) {
      await expect(redact(unknown)).rejects.toThrow(`Version ${unknown} of ${tenant} does not exist.`);
    }
    await expect(
      eraseVersion(service().database, freshTenant('other'), String(created?.id), origin),
    ).rejects.toThrow('does not exist.');
    await run(service(), tenant, cmd.delete('/memories/g'));
    expect(await redact(String(created?.id))).toMatchObject({ versions: 2 });
    expect(await redact(String(head?.id))).toMatchObject({ versions: 0 });
    await assertInvariants(service());
  });

  it('names the open drafts that still contain the file', async () => {
    const tenant = freshTenant('redact');
    const f = '/memories/f';
    await run(service(), tenant, cmd.create(f, 'secret\n'), cmd.create('/memories/g', 'x'));
    const early = await drafting.create(tenant, { at: '2001-01-01T00:00:00.000000Z' });
    const [keeping, deleting] = [await drafting.create(tenant), await drafting.create(tenant)];
    await run(service(), early.id, cmd.create(f, 'another file\n'));
    await run(service(), deleting.id, cmd.delete(f));
    await run(service(), tenant, cmd.delete(f));
    const [created] = await readVersions(service(), tenant);
    const redact = (of: string) => eraseVersion(service().database, of, String(created?.id), origin);
    expect((await redact(tenant)).drafts).toStrictEqual([keeping.id, deleting.id].sort());
    expect(await redact(deleting.id)).toMatchObject({ versions: 1, drafts: [] });
    expect((await redact(tenant)).drafts).toStrictEqual([keeping.id]);
  });

  it('deletes all stored results in the tenant, but none in other tenants', async () => {
    const [tenant, other] = [freshTenant('redact'), freshTenant('redact')];
    await run(service(), tenant, cmd.create('/memories/f', 'x'), cmd.delete('/memories/f'));
    await run(service(), other, cmd.create('/memories/f', 'x'));
    for (const [of, many] of [
      [tenant, 4500],
      [other, 1],
    ] as const) {
      await service().query(
        `INSERT INTO idempotency_keys (tenant_id, key_hash, request_hash, content, is_error)
         SELECT $1::text, 'k' || n, 'r', 'answer', n % 2 = 0 FROM generate_series(1, ${many}) AS n`,
        [of],
      );
    }
    const [created] = await readVersions(service(), tenant);
    const redacted = await eraseVersion(service().database, tenant, String(created?.id), origin);
    expect(redacted.storedResults).toBe(4500);
    expect(
      await service().query(
        `SELECT tenant_id, count(*)::integer AS results, count(*) FILTER (WHERE is_error)::integer AS errors
         FROM idempotency_keys WHERE tenant_id IN ($1, $2) AND content = 'answer' GROUP BY 1`,
        [tenant, other],
      ),
    ).toStrictEqual([{ tenant_id: other, results: 1, errors: 0 }]);
  });
});
