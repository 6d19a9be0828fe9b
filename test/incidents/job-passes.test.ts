/**
 * Tenants that move while a job passes, and jobs that select tenants by an earlier job.
 *
 * @module-tag long-on-pglite
 */
import { afterAll, expect, it } from 'vitest';
import { loadConfig } from '../../src/core/config.ts';
import { eraseJobs } from '../../src/features/incidents/erase-job.ts';
import { findJobs } from '../../src/features/incidents/find-job.ts';
import type { JobKind } from '../../src/features/incidents/job-kind.ts';
import { JobRunner } from '../../src/features/incidents/runner.ts';
import { useAdmin } from '../support/admin.ts';
import { encodeVariants, foundInTables } from '../support/encodings.ts';
import { readTree } from '../support/invariants.ts';
import { runOn } from '../support/run-program.ts';
import { cmd } from '../support/step-table.ts';
import { describeServiceOnOwnDatabase, freshTenant } from '../support/test-service.ts';

const SECRET = '4929 1234 5678 9012';

describeServiceOnOwnDatabase("a job's passes", (service) => {
  const admin = useAdmin(service);
  const kinds: JobKind[] = [];
  afterAll(() => Promise.all(kinds.map((kind) => kind.close?.())));
  const createKinds = () => {
    const config = loadConfig({ AUTH_CACHE_SECONDS: '1', DB_STATEMENT_TIMEOUT_MS: '3s' });
    if (kinds.length === 0) kinds.push(eraseJobs(service().database, config), findJobs(service().database));
    return kinds as [JobKind, JobKind];
  };
  const run = (kind: JobKind) =>
    new JobRunner(service().database, [kind], (_, error) => {
      throw error;
    }).run();

  /** Runs `change` once, when the job has processed all tenants in its first pass. */
  function withChange(kind: JobKind, tenants: number, change: () => Promise<void>): JobKind {
    let done = 0;
    return {
      ...kind,
      work: async (job, tenant, run) => {
        const result = await kind.work(job, tenant, run);
        if (++done === tenants) await change();
        return result;
      },
    };
  }

  const write = async (tenant: string, input: object) =>
    expect((await service().execute(input, { tenant })).body).toMatchObject({ is_error: false });
  const get = async (path: string) => (await admin().call('GET', path)).body;
  async function post(path: string, body: object, status = 201) {
    const response = await admin().call('POST', path, { body });
    expect([response.status, response.text]).toStrictEqual([status, expect.any(String)]);
    return response.body as { id: string };
  }

  const tenantCount = async () => Number((await service().query('SELECT count(*) FROM tenants'))[0]?.count);

  it('erases a text from a tenant that was renamed to an ID that the job has already passed', async () => {
    const [passed, tenant] = [freshTenant('m-rename'), freshTenant('z-rename')];
    for (const each of [passed, tenant]) await write(each, cmd.create('/memories/a.md', `${SECRET}\n`));
    const { id } = await post('/erase', { text: SECRET, tenants: { ids: [passed, tenant] }, dry_run: false });
    const [erase] = createKinds();
    const to = freshTenant('a-rename');
    // The tenant is renamed before its turn, so the job's page still has its earlier ID.
    await run({
      ...erase,
      work: async (job, each, run) => {
        if (each === tenant) await post(`/tenants/${tenant}/rename`, { to }, 200);
        return erase.work(job, each, run);
      },
    });
    expect(await get(`/jobs/${id}`)).toMatchObject({
      state: 'done',
      is_exact: true,
      only_tenants: [passed, to],
      counts: { files: 2 },
    });
    expect(await foundInTables(service(), encodeVariants(SECRET))).toStrictEqual([]);
    const receipts = (await get(`/receipts?job=${id}`)).receipts as { receipt: { tenant: string | null } }[];
    expect(receipts.map(({ receipt }) => receipt.tenant).sort()).toStrictEqual([to, passed, null].sort());
  });

  it('erases a text from new and copied tenants that appear after the first pass', async () => {
    const source = freshTenant('m-source');
    await write(source, cmd.create('/memories/a.md', `${SECRET}\n`));
    const { id } = await post('/erase', { text: SECRET, dry_run: false });
    const [erase] = createKinds();
    const [fresh, copy] = [freshTenant('a-new'), freshTenant('a-copy')];
    const change = async () => {
      await write(fresh, cmd.create('/memories/b.md', `${SECRET}\n`));
      await post(`/tenants/${fresh}/copy`, { to: copy }, 200);
    };
    await run(withChange(erase, 1, change));
    expect(await get(`/jobs/${id}`)).toMatchObject({ state: 'done', is_exact: true, counts: { files: 3 } });
    expect(await foundInTables(service(), encodeVariants(SECRET))).toStrictEqual([]);
    for (const each of [fresh, copy])
      expect((await readTree(service(), each)).get('/memories/b.md')).toBe('[erased]\n');
  });

  it('erases a text from a memory that was imported after the first pass', async () => {
    const [source, target] = [freshTenant('m-exported'), freshTenant('a-imported')];
    await write(source, cmd.create('/memories/a.md', `${SECRET}\n`));
    await post('/tenants', { id: target });
    const { stdout } = await runOn(service(), ['export', source]);
    const { id } = await post('/erase', { text: SECRET, dry_run: false });
    const [erase] = createKinds();
    const change = async () => {
      const imported = await runOn(service(), ['import', target, '-'], {
        stdin: Buffer.from(stdout, 'latin1'),
      });
      expect([imported.code, imported.stderr]).toStrictEqual([0, expect.any(String)]);
    };
    await run(withChange(erase, await tenantCount(), change));
    expect(await get(`/jobs/${id}`)).toMatchObject({ state: 'done', is_exact: true, counts: { files: 2 } });
    expect((await readTree(service(), target)).get('/memories/a.md')).toBe('[erased]\n');
    expect(await foundInTables(service(), encodeVariants(SECRET))).toStrictEqual([]);
  });

  it('counts each file once if find reads a tenant again after a change', async () => {
    const tenant = freshTenant('recounted');
    await write(tenant, cmd.create('/memories/a.md', `${SECRET}\n`));
    const { id } = await post('/find', { text: SECRET, tenants: { ids: [tenant] } });
    const [, find] = createKinds();
    await run(withChange(find, 1, () => write(tenant, cmd.create('/memories/b.md', `${SECRET}\n`))));
    expect(await get(`/jobs/${id}`)).toMatchObject({
      state: 'done',
      is_exact: true,
      tenants_done: 1,
      counts: { files: 2, current: 2, hits: 2 },
    });
    expect((await get(`/jobs/${id}/tenants`)).tenants).toMatchObject([{ tenant, counts: { hits: 2 } }]);
    await admin().call('DELETE', `/tenants/${tenant}`);
  });

  it('erases files that agents wrote before every replica kept the text out', async () => {
    const tenant = freshTenant('late');
    await write(tenant, cmd.create('/memories/first.md', 'first\n'));
    await write(tenant, cmd.create('/memories/a.md', `${SECRET}\n`));
    const body = { text: SECRET, tenants: { ids: [tenant] }, keep_out: true, dry_run: false };
    const { id } = await post('/erase', body);
    const [erase] = createKinds();
    let resolved = 0;
    await run({
      ...withChange(erase, 1, () => write(tenant, cmd.create('/memories/b.md', `${SECRET}\n`))),
      pauseMs: (job) => {
        resolved = erase.pauseMs?.(job) ?? 0;
        return 0;
      },
    });
    expect(resolved).toBe(4000);
    expect(await get(`/jobs/${id}`)).toMatchObject({ state: 'done', is_exact: true, counts: { files: 2 } });
    expect(await foundInTables(service(), encodeVariants(SECRET))).toStrictEqual([]);
  });

  it('rejects found_by with a running job, and states in the receipt that the job was cancelled', async () => {
    const tenant = freshTenant('by-find');
    await write(tenant, cmd.create('/memories/a.md', `${SECRET}\n`));
    const found = (await post('/find', { text: SECRET })).id;
    const body = { text: SECRET, tenants: { found_by: found }, dry_run: false };
    for (const [path, given] of [
      ['/erase', body],
      ['/find', { text: SECRET, tenants: body.tenants }],
      ['/revert', { by: 'x', since: '1h', tenants: body.tenants }],
    ] as const) {
      const { status, headers, body: problem } = await admin().call('POST', path, { body: given });
      expect([status, headers['retry-after'], problem.detail]).toStrictEqual([
        409,
        '10',
        `Job ${found} has not ended, so it has not found all tenants yet. Wait for its end, or cancel it and use its tenants so far.`,
      ]);
    }
    await post(`/jobs/${found}/cancel`, {}, 200);
    const { id } = await post('/erase', body);
    await run(createKinds()[0]);
    expect(await get(`/jobs/${id}`)).toMatchObject({
      state: 'done',
      is_exact: false,
      selection: { found_by: found, found_by_state: 'cancelled' },
    });
    const { receipts } = await get(`/receipts?job=${id}`);
    expect(receipts).toMatchObject([
      { receipt: { subject: { found_by: found, found_by_state: 'cancelled', is_exact: 'false' } } },
    ]);
  });
});
