/**
 * Erasing a text in many tenants: dry run, changes, drafts, resumption, and receipts.
 *
 * @module-tag long-on-pglite
 */
import { afterAll, expect, it } from 'vitest';
import { loadConfig } from '../../src/core/config.ts';
import { eraseJobs } from '../../src/features/incidents/erase-job.ts';
import type { JobKind } from '../../src/features/incidents/job-kind.ts';
import { JobRunner } from '../../src/features/incidents/runner.ts';
import { makeKey, useAdmin } from '../support/admin.ts';
import { Drafting } from '../support/drafting.ts';
import { encodeVariants, foundInTables } from '../support/encodings.ts';
import { assertInvariants, readTree } from '../support/invariants.ts';
import { cmd } from '../support/step-table.ts';
import { describeServiceOnOwnDatabase, freshTenant } from '../support/test-service.ts';

const SECRET = '4929 1234 5678 9012';

describeServiceOnOwnDatabase('erasing a text', (service) => {
  const admin = useAdmin(service);
  const drafting = new Drafting(service);
  const runners: JobRunner[] = [];
  let kind: JobKind | undefined;
  afterAll(async () => {
    await Promise.all(runners.map((runner) => runner.stop()));
    await kind?.close?.();
  });
  const startErasing = () => {
    kind ??= eraseJobs(
      service().database,
      loadConfig({ AUTH: 'keys', AUTH_CACHE_SECONDS: '1', DB_STATEMENT_TIMEOUT_MS: '1' }),
    );
    return kind;
  };
  const runnerWith = (work: JobKind['work']) => {
    const runner = new JobRunner(service().database, [{ ...startErasing(), work }], (_, error) => {
      throw error;
    });
    runners.push(runner);
    return runner;
  };

  async function write(tenant: string, input: object, key?: string): Promise<void> {
    const headers = key === undefined ? {} : { 'idempotency-key': key };
    expect((await service().execute(input, { tenant, headers })).body).toMatchObject({ is_error: false });
  }

  async function start(body: object): Promise<string> {
    const response = await admin().call('POST', '/erase', { body: { text: SECRET, ...body } });
    expect([response.status, response.text]).toStrictEqual([201, expect.any(String)]);
    return String(response.body.id);
  }

  /** Starts and runs a job, and returns its record. */
  async function run(body: object) {
    const id = await start(body);
    await runnerWith(startErasing().work).run();
    return get(`/jobs/${id}`);
  }

  const get = async (path: string) => (await admin().call('GET', path)).body;

  it("counts the text's places in a dry run, and then erases the text from every table", async () => {
    const tenant = freshTenant('traces');
    const ids = [tenant];
    await write(tenant, cmd.create('/memories/a.md', `first\ncard ${SECRET}\n`), 'k1');
    await write(tenant, cmd.replace('/memories/a.md', 'first', 'second'), 'k2');
    await write(tenant, cmd.create('/memories/split.md', 'x 4929 1234 y\n'));
    await write(tenant, cmd.replace('/memories/split.md', '1234 y', '1234 5678 9012 z'));
    await write(tenant, cmd.replace('/memories/split.md', '4929', '0000'));
    await write(tenant, cmd.create(`/memories/of ${SECRET}/${SECRET}.md`, 'by path\n'));
    await write(tenant, cmd.create(`/memories/of ${SECRET}/other.md`, 'kept\n'));
    await write(tenant, cmd.create(`/memories/old ${SECRET}/gone.md`, 'gone\n'));
    await write(tenant, cmd.delete(`/memories/old ${SECRET}`));
    await write(tenant, cmd.create('/memories/clean.md', 'clean\n'));
    const draft = await drafting.create(tenant, { title: `about ${SECRET}` });
    const comments = `/tenants/${tenant}/drafts/${draft.id}/comments`;
    for (const body of [{ text: `card ${SECRET}?` }, { text: 'by name', reviewer: SECRET }, { text: 'kept' }])
      expect((await admin().call('POST', comments, { body })).status).toBe(201);
    await write(draft.id, cmd.replace('/memories/a.md', 'second', 'third'));
    await write(draft.id, cmd.create('/memories/draft.md', `${SECRET}\n`));

    const before = await readTree(service(), tenant);
    const tried = await run({ tenants: { ids } });
    expect(tried).toMatchObject({ kind: 'erase', state: 'done', tenants_done: 1, is_exact: true });
    expect(tried.counts).toMatchObject({
      files: 1,
      versions: 4,
      paths: 3,
      directories: 1,
      results: 2,
      titles: 1,
      settings: 0,
    });
    expect(await readTree(service(), tenant)).toStrictEqual(before);
    expect((await get(`/jobs/${tried.id}/tenants/${tenant}/hits`)).hits).toContainEqual(
      expect.objectContaining({ path: '/memories/a.md', excerpt: `card ${SECRET}`, place: 'current' }),
    );

    const erased = await run({ tenants: { ids }, dry_run: false });
    const { hits: _, searched: __, ...expected } = tried.counts as Record<string, number>;
    expect(erased).toMatchObject({ state: 'done', tenants_failed: 0, is_exact: true, counts: expected });
    expect(Object.fromEntries(await readTree(service(), tenant))).toStrictEqual({
      '/memories': null,
      '/memories/a.md': 'second\ncard [erased]\n',
      '/memories/split.md': 'x 0000 1234 5678 9012 z\n',
      '/memories/of erased': null,
      '/memories/of erased/erased.md': 'by path\n',
      '/memories/of erased/other.md': 'kept\n',
      '/memories/clean.md': 'clean\n',
    });
    expect(await foundInTables(service(), encodeVariants(SECRET))).toStrictEqual([]);
    expect((await get(comments)).comments).toStrictEqual([expect.objectContaining({ text: 'kept' })]);
    await assertInvariants(service());
    const again = await run({ tenants: { ids }, dry_run: false });
    expect(again.counts).toStrictEqual({
      files: 0,
      versions: 0,
      drafts: 0,
      paths: 0,
      directories: 0,
      results: 0,
      titles: 0,
      settings: 0,
      searched: expect.any(Number),
    });
    expect((await get(`/jobs/${again.id}/tenants`)).tenants).toStrictEqual([]);
  });

  it('continues an erase job after its replica is killed, and counts each place once', async () => {
    const tenant = freshTenant('killed');
    for (let i = 0; i < 45; i++) await write(tenant, cmd.create(`/memories/f${i}.md`, `${i} ${SECRET}\n`));
    await write(tenant, cmd.create(`/memories/${SECRET}.md`, 'path\n'));
    const id = await start({ tenants: { ids: [tenant] }, dry_run: false });
    let transactions = 0;
    let endKilled = () => {};
    const dead = new Promise<never>((_, reject) => {
      endKilled = () => reject(new Error('killed'));
    });
    // The first replica ends after two transactions, as with kill -9: it does not release its lease.
    const dying = new Proxy(service().database, {
      get: (database, name) => {
        if (name !== 'transaction') return Reflect.get(database, name);
        return (work: Parameters<typeof database.transaction>[0]) =>
          ++transactions > 2 ? dead : database.transaction(work);
      },
    });
    const killed = eraseJobs(dying, loadConfig({ AUTH: 'keys' }));
    const ended = runnerWith(killed.work)
      .run()
      .catch(() => {});
    await expect.poll(() => transactions, { timeout: 60_000 }).toBe(3);
    const left = await service().query(
      'SELECT count(*)::integer AS files FROM entries WHERE tenant_id = $1 AND strpos(content, $2) > 0',
      [tenant, SECRET],
    );
    expect(left).toStrictEqual([{ files: 5 }]);
    expect((await get(`/jobs/${id}/tenants`)).tenants).toMatchObject([
      { tenant, counts: { files: 40 }, is_exact: false },
    ]);
    await service().query(
      "UPDATE jobs SET lease_until = '2026-01-01Z', holder = 'killed' WHERE id::text = $1",
      [id],
    );
    await runnerWith(startErasing().work).run();
    endKilled();
    await ended;
    await killed.close?.();
    expect(await get(`/jobs/${id}`)).toMatchObject({
      state: 'done',
      is_exact: true,
      counts: { files: 45, paths: 1, versions: 0 },
    });
    expect(await foundInTables(service(), encodeVariants(SECRET))).toStrictEqual([]);
    const { receipts } = await get(`/receipts?job=${id}`);
    expect(receipts).toMatchObject([
      { receipt: { kind: 'text_erased', tenant: null, erased: { tenants: 1, files: 45, paths: 1 } } },
      { receipt: { kind: 'text_erased', tenant, erased: { files: 45, paths: 1 } } },
    ]);
  });

  it("causes no conflicts in drafts, and keeps the drafts' authors", async () => {
    const tenant = freshTenant('merged');
    await write(tenant, cmd.create('/memories/same.md', `1\n${SECRET}\n3\n`));
    await write(tenant, cmd.create('/memories/changed.md', `1\n${SECRET}\n3\n`));
    await write(tenant, cmd.create(`/memories/${SECRET}/moved.md`, `1\n2\n3\n4\n5\n`));
    await write(tenant, cmd.create('/memories/removed.md', `1\n${SECRET}\n3\n`));
    const draft = await drafting.create(tenant);
    await write(draft.id, cmd.replace('/memories/changed.md', '1\n', 'draft\n'));
    await write(draft.id, cmd.replace(`/memories/${SECRET}/moved.md`, '1\n', 'draft\n'));
    await write(draft.id, cmd.replace('/memories/removed.md', SECRET, 'removed'));
    await run({ tenants: { ids: [tenant] }, dry_run: false });
    expect(await foundInTables(service(), encodeVariants(SECRET))).toStrictEqual([]);
    await write(tenant, cmd.replace('/memories/same.md', '3\n', 'later\n'));
    await write(tenant, cmd.replace('/memories/changed.md', '3\n', 'later\n'));
    await write(tenant, cmd.replace('/memories/erased/moved.md', '5\n', 'later\n'));
    const compared = await drafting.compare(draft);
    expect([...compared.plan.conflicts]).toStrictEqual([]);
    await drafting.merge(draft);
    expect(Object.fromEntries(await readTree(service(), tenant))).toStrictEqual({
      '/memories': null,
      '/memories/same.md': '1\n[erased]\nlater\n',
      '/memories/changed.md': 'draft\n[erased]\nlater\n',
      '/memories/erased': null,
      '/memories/erased/moved.md': 'draft\n2\n3\n4\nlater\n',
      '/memories/removed.md': '1\nremoved\n3\n',
    });
    const [merged] = await service().query(
      "SELECT origin -> 'actor' AS actor FROM entries WHERE tenant_id = $1 AND path = '/memories/changed.md'",
      [tenant],
    );
    expect(merged).toStrictEqual({ actor: { type: 'anonymous' } });
    await assertInvariants(service());
  });

  it('renames a path with the text to a free name, and ignores case if requested', async () => {
    const tenant = freshTenant('names');
    for (const path of [
      'Jane Doe/Jane Doe 1.md',
      'Jane Doe/x.md',
      'JANE DOE.md',
      'erased/own.md',
      'erased.md',
    ])
      await write(tenant, cmd.create(`/memories/${path}`, `${path}: jane doe, Jane\n`));
    const body = {
      text: 'Jane Doe',
      exact: true,
      tenants: { ids: [tenant] },
      replacement: '',
      dry_run: false,
    };
    expect((await run(body)).counts).toMatchObject({ paths: 3, files: 2 });
    expect((await run({ ...body, ignore_case: true })).counts).toMatchObject({ paths: 1, files: 5 });
    expect(Object.fromEntries(await readTree(service(), tenant))).toStrictEqual({
      '/memories': null,
      '/memories/erased-2': null,
      '/memories/erased-2/erased 1.md': '/ 1.md: , Jane\n',
      '/memories/erased-2/x.md': '/x.md: , Jane\n',
      '/memories/erased-2.md': '.md: , Jane\n',
      '/memories/erased': null,
      '/memories/erased/own.md': 'erased/own.md: , Jane\n',
      '/memories/erased.md': 'erased.md: , Jane\n',
    });
    await assertInvariants(service());
  });

  it('erases a text from archived, suspended, and full tenants and from tenants without a history', async () => {
    const tenants = ['archived', 'suspended', 'no-history', 'full'].map(freshTenant).sort();
    for (const tenant of tenants) {
      if (tenant.startsWith('no-history'))
        await service().query('INSERT INTO tenants (id, history_days) VALUES ($1, 0)', [tenant]);
      await write(tenant, cmd.create(`/memories/a ${SECRET}.md`, `${SECRET}\n`));
      await write(tenant, cmd.replace(`/memories/a ${SECRET}.md`, '\n', `\n${SECRET}`));
      await service().query(
        `UPDATE tenants SET archived_at = CASE WHEN id LIKE 'archived%' THEN $2::timestamptz END,
           suspended_at = CASE WHEN id LIKE 'suspended%' THEN $2::timestamptz END,
           max_bytes = CASE WHEN id LIKE 'full%' THEN 1 ELSE max_bytes END, secrets = 'reject'
         WHERE id = $1`,
        [tenant, new Date().toISOString()],
      );
    }
    const { counts } = await run({
      tenants: { ids: tenants },
      dry_run: false,
      replacement: 'a longer text than the erased text',
    });
    expect(counts).toMatchObject({ files: 4, paths: 4, versions: 3 });
    for (const tenant of tenants)
      expect((await readTree(service(), tenant)).get('/memories/a erased.md')).toBe(
        'a longer text than the erased text\na longer text than the erased text',
      );
    expect(await foundInTables(service(), encodeVariants(SECRET))).toStrictEqual([]);
    await assertInvariants(service());
  });

  it('limits a scoped key to its tenants when it erases a text and reads receipts', async () => {
    const [own, other] = [freshTenant('own'), freshTenant('other')];
    for (const each of [own, other]) await write(each, cmd.create('/memories/a.md', `${SECRET}\n`));
    const { key } = await makeKey(service(), { isAdmin: true, onlyTenants: [own] });
    const call = (method: 'GET' | 'POST', path: string, body?: object) =>
      admin().call(method, path, { key, ...(body && { body }) });
    const all = { text: SECRET, dry_run: false };
    expect((await call('POST', '/erase', { ...all, tenants: { ids: [other] } })).status).toBe(403);
    const started = await call('POST', '/erase', all);
    await runnerWith(startErasing().work).run();
    const receipts = (await call('GET', `/receipts?job=${started.body.id}`)).body.receipts as {
      receipt: { id: string; tenant: string | null };
    }[];
    expect(receipts.map(({ receipt }) => receipt.tenant)).toStrictEqual([null, own]);
    expect((await readTree(service(), other)).get('/memories/a.md')).toBe(`${SECRET}\n`);
    await run({ dry_run: false });
    const listed = (await get('/receipts')).receipts as typeof receipts;
    const statuses = new Map<string | null, number>();
    for (const { receipt } of listed.slice(0, 2))
      statuses.set(receipt.tenant, (await call('GET', `/receipts/${receipt.id}`)).status);
    expect(statuses).toStrictEqual(
      new Map([
        [null, 404],
        [other, 403],
      ]),
    );
  });

  it('keeps the erased text out of the selected tenants on request, and rejects unsuitable texts', async () => {
    const [tenant, other] = [freshTenant('kept-out'), freshTenant('open')];
    for (const each of [tenant, other]) await write(each, cmd.create('/memories/a.md', `${SECRET}\n`));
    await run({ tenants: { ids: [tenant] }, dry_run: false, keep_out: true });
    const entries = async (path: string) => (await get(path)).entries;
    expect(await entries(`/tenants/${tenant}/kept-out`)).toMatchObject([
      { label: expect.stringMatching(/^erase /) },
    ]);
    expect(await entries(`/tenants/${other}/kept-out`)).toStrictEqual([]);
    expect((await readTree(service(), other)).get('/memories/a.md')).toBe(`${SECRET}\n`);
    await start({ dry_run: true, keep_out: true });
    expect(await entries('/kept-out')).toStrictEqual([]);
    await run({ dry_run: false, keep_out: true });
    expect(await entries('/kept-out')).toMatchObject([{ label: 'erase' }]);

    const problem = async (body: object) => {
      const { status, body: given } = await admin().call('POST', '/erase', { body });
      return [status, given.detail];
    };
    expect(await problem({ text: ' ab ' })).toStrictEqual([
      400,
      'The field text needs at least 3 characters besides white space, because a shorter text is part of many others.',
    ]);
    expect(await problem({ text: 'abc', replacement: 'XABCX' })).toStrictEqual([
      400,
      'The body requires a `replacement` that does not contain the `text`.',
    ]);
    expect((await problem({ text: 'abc', keep_out: true }))[0]).toBe(400);
  });
});
