/**
 * Jobs over tenants: progress, outcomes, resumption, cancellation, and expiration.
 *
 * @module-tag long-on-pglite
 */
import { afterAll, expect, it } from 'vitest';
import { loadConfig } from '../../src/core/config.ts';
import { FleetLog } from '../../src/features/feed/fleet-log.ts';
import type { JobKind } from '../../src/features/incidents/job-kind.ts';
import { deleteExpiredJobs } from '../../src/features/incidents/jobs.ts';
import { jobKinds } from '../../src/features/incidents/kinds.ts';
import { JobRunner } from '../../src/features/incidents/runner.ts';
import type { AdminResponse } from '../support/admin.ts';
import { makeKey, useAdmin } from '../support/admin.ts';
import { startLog } from '../support/change-log.ts';
import { cmd } from '../support/step-table.ts';
import { describeServiceOnOwnDatabase, freshTenant } from '../support/test-service.ts';

const SECRET = 'the planted text';

describeServiceOnOwnDatabase('jobs over tenants', (service) => {
  const admin = useAdmin(service);
  const runners: JobRunner[] = [];
  afterAll(() => Promise.all(runners.map((runner) => runner.stop())));

  const runnerWith = (kinds: JobKind[]) => {
    const runner = new JobRunner(service().database, kinds, (_, error) => {
      throw error;
    });
    runners.push(runner);
    return runner;
  };
  let kinds: JobKind[] | undefined;
  /** Returns job kinds that share a thread, because starting a thread takes a second. */
  const sharedKinds = () => {
    kinds ??= jobKinds(service().database, loadConfig({ AUTH: 'none' }));
    return kinds;
  };
  const run = () => runnerWith(sharedKinds()).run();

  /** Creates tenants, each with a file that contains the text in its current and its superseded version. */
  async function plantSecrets(label: string, count: number): Promise<string[]> {
    const tenants = Array.from({ length: count }, () => freshTenant(label)).sort();
    for (const tenant of tenants) {
      await write(tenant, cmd.create('/memories/a.md', `first\n${SECRET}\n`));
      await write(tenant, cmd.replace('/memories/a.md', 'first', 'second'));
    }
    return tenants;
  }

  async function write(tenant: string, input: object): Promise<void> {
    expect((await service().execute(input, { tenant })).body).toMatchObject({ is_error: false });
  }

  async function start(tenants: object, more: object = {}, key?: string) {
    const body = { text: SECRET, tenants, ...more };
    const response = await admin().call('POST', '/find', { body, ...(key !== undefined && { key }) });
    expect([response.status, response.text]).toStrictEqual([201, expect.any(String)]);
    return response.body as { id: string; tenants: number };
  }

  const get = async (path: string) => (await admin().call('GET', path)).body;
  const storedJob = (id: string) =>
    service().query('SELECT state, texts, position, holder FROM jobs WHERE id::text = $1', [id]);

  it('reports exact counts, outcomes by tenant, and hits with excerpts', async () => {
    const tenants = await plantSecrets('counts', 3);
    const { id, tenants: selected } = await start({ ids: [...tenants, freshTenant('missing')] });
    expect(selected).toBe(3);
    await run();
    const counts = {
      files: 1,
      current: 1,
      superseded: 1,
      drafts: 0,
      paths: 0,
      directories: 0,
      lines: 2,
      hits: 2,
      versions: 2,
    };
    expect(await get(`/jobs/${id}`)).toMatchObject({
      state: 'done',
      tenants_done: 3,
      tenants_failed: 0,
      is_exact: true,
      counts: { files: 3, current: 3, superseded: 3, lines: 6, hits: 6 },
    });
    const outcomes: unknown[] = [];
    for (let after = ''; outcomes.length < 3; ) {
      const page = await get(`/jobs/${id}/tenants?limit=1${after}`);
      outcomes.push(...(page.tenants as unknown[]));
      after = `&after=${page.next}`;
    }
    expect(outcomes).toMatchObject(
      tenants.map((tenant) => ({ tenant, error: null, counts, is_exact: true })),
    );
    const { hits, stored: all } = await get(`/jobs/${id}/tenants/${tenants[0]}/hits`);
    expect(all).toBe(2);
    const hit = { draft: null, in: 'content', path: '/memories/a.md', line: 2, lines: 1, excerpt: SECRET };
    const found = { ...hit, actor: { type: 'anonymous' }, redacted: false };
    expect(hits).toMatchObject([
      { ...found, place: 'current', operation: 'modified' },
      { ...found, place: 'superseded', operation: 'created' },
    ]);
  });

  it("stores a job's text in one column only, and deletes it when the job ends", async () => {
    const tenants = await plantSecrets('texts', 1);
    const { id } = await start({ ids: tenants });
    expect(await storedJob(id)).toMatchObject([{ state: 'queued', texts: { text: SECRET } }]);
    await run();
    expect(await storedJob(id)).toMatchObject([{ state: 'done', texts: null, position: '', holder: null }]);
    const columns = await service().query(
      `SELECT (SELECT string_agg(j::text, '') FROM jobs AS j) || (SELECT string_agg(o::text, '') FROM job_outcomes AS o)
         || (SELECT string_agg(a::text, '') FROM audit_events AS a) AS everything`,
    );
    expect(String(columns[0]?.everything)).toContain(id);
    expect(String(columns[0]?.everything)).not.toContain(SECRET);
    const cancelled = await start({ ids: tenants });
    await admin().call('POST', `/jobs/${cancelled.id}/cancel`);
    expect(await storedJob(cancelled.id)).toMatchObject([{ state: 'cancelled', texts: null }]);
  });

  it("records a job's end in the list of all tenants' changes, once", async () => {
    await startLog(new FleetLog(service().database));
    const { cursor } = (await admin().call('GET', '/changes?after=now')).body;
    const tenants = await plantSecrets('ended', 1);
    const done = await start({ ids: tenants });
    await run();
    const cancelled = await start({ ids: tenants });
    for (let i = 0; i < 2; i++) await admin().call('POST', `/jobs/${cancelled.id}/cancel`);
    const { key } = await makeKey(service(), { isAdmin: true, onlyTenants: tenants });
    const list = async (options: { key?: string } = {}) => {
      const path = `/changes?after=${cursor}&type=job_ended`;
      return (await admin().call('GET', path, options)).body.events as object[];
    };
    await expect.poll(async () => (await list()).length).toBe(2);
    const event = {
      cursor: expect.any(String),
      type: 'job_ended',
      tenant: null,
      at: expect.any(String),
      actor: { type: 'admin_key', id: admin().key.id, label: 'control plane' },
    };
    const job = { kind: 'find', tenants_failed: 0 };
    expect(await list()).toStrictEqual([
      { ...event, job: { ...job, id: done.id, state: 'done' } },
      { ...event, job: { ...job, id: cancelled.id, state: 'cancelled' } },
    ]);
    expect(await list({ key })).toStrictEqual([]);
    expect((await admin().call('GET', `/tenants/${tenants[0]}/changes?type=job_ended`)).body.events).toEqual(
      [],
    );
  });

  it('continues a job on another replica after a replica is killed, and counts each tenant once', async () => {
    const tenants = await plantSecrets('resumed', 12);
    const { id } = await start({ ids: tenants });
    const seen: string[] = [];
    const [find] = sharedKinds() as [JobKind];
    // The first replica ends within the third tenant, and after some others, as with kill -9: it keeps its lease.
    const killed = runnerWith([
      {
        ...find,
        work: (job, tenant, run) => {
          seen.push(tenant);
          return tenant === tenants[2] || seen.length > 8
            ? new Promise((_, reject) =>
                run.signal.addEventListener('abort', () => reject(run.signal.reason)),
              )
            : find.work(job, tenant, run);
        },
      },
    ]);
    void killed.run();
    const done = async () => Number((await get(`/jobs/${id}`)).tenants_done);
    await expect.poll(async () => seen.length - (await done()), { timeout: 30_000 }).toBe(4);
    const before = seen.length;
    expect(await runnerWith([find]).run()).toBe(false);
    // The first replica would extend its lease, because its process has not really ended.
    await service().query(
      "UPDATE jobs SET lease_until = '2026-01-01Z', holder = 'killed' WHERE id::text = $1",
      [id],
    );
    const again: string[] = [];
    await runnerWith([
      {
        ...find,
        work: (job, tenant, ...more) => {
          again.push(tenant);
          return find.work(job, tenant, ...more);
        },
      },
    ]).run();
    // The second pass looks again at all tenants, because they have changed just before the job.
    expect(again.slice(0, 12 - before + 4)).toContain(tenants[2]);
    expect(await get(`/jobs/${id}`)).toMatchObject({
      state: 'done',
      tenants_done: 12,
      is_exact: true,
      counts: { files: 12, hits: 24, versions: 24 },
    });
  });

  it('stops a cancelled job before its current tenant is complete, and keeps completed outcomes', async () => {
    const tenants = await plantSecrets('cancelled', 3);
    const { id } = await start({ ids: tenants });
    const [find] = sharedKinds() as [JobKind];
    const runner = runnerWith([
      {
        kind: 'find',
        work: async (job, tenant, run) => {
          if (tenant === tenants[0]) return find.work(job, tenant, run);
          await expect.poll(async () => (await get(`/jobs/${id}`)).tenants_done, { timeout: 30_000 }).toBe(1);
          const { signal } = run;
          const cancelled = await admin().call('POST', `/jobs/${id}/cancel`);
          expect(cancelled.body).toMatchObject({ state: 'cancelled', is_exact: false });
          await new Promise<void>((resolve) => {
            if (signal.aborted) resolve();
            else signal.addEventListener('abort', () => resolve());
          });
          throw signal.reason;
        },
      },
    ]);
    await runner.run();
    expect(await get(`/jobs/${id}`)).toMatchObject({
      state: 'cancelled',
      tenants_done: 1,
      counts: { hits: 2 },
    });
    expect((await get(`/jobs/${id}/tenants`)).tenants).toMatchObject([{ tenant: tenants[0] }]);
    expect((await admin().call('POST', `/jobs/${id}/cancel`)).body).toMatchObject({ state: 'cancelled' });
  });

  it('shows counts while tenants are in progress, and counts tenants without an outcome in the total', async () => {
    const tenants = await plantSecrets('progress', 2);
    let looks = 0;
    const both = createBarrier(2);
    const { id } = await start({ ids: tenants });
    await runnerWith([
      {
        ...(sharedKinds()[0] as JobKind),
        work: async (_job, _tenant, { report }) => {
          report({ versions: 5 });
          if (looks++ < 2)
            await expect
              .poll(async () => (await get(`/jobs/${id}`)).progress, { timeout: 30_000 })
              .toStrictEqual({ versions: 10 });
          await both();
          return { counts: { versions: 7 }, isComplete: true, details: null };
        },
      },
    ]).run();
    expect(await get(`/jobs/${id}`)).toMatchObject({
      state: 'done',
      progress: null,
      counts: { versions: 14 },
    });
    expect((await get(`/jobs/${id}/tenants`)).tenants).toStrictEqual([]);
  });

  it('records the error if a job fails in one tenant, and continues with the next tenant', async () => {
    const tenants = await plantSecrets('failing', 2);
    const { id } = await start({ ids: tenants });
    const { ServiceError } = await import('../../src/core/errors/errors.ts');
    await runnerWith([
      {
        kind: 'find',
        work: async (_, tenant) => {
          if (tenant === tenants[0]) throw new ServiceError('tenant_archived', tenant);
          return { counts: { hits: 1 }, isComplete: true, details: {} };
        },
      },
    ]).run();
    expect(await get(`/jobs/${id}`)).toMatchObject({ state: 'done', tenants_failed: 1, is_exact: false });
    expect((await get(`/jobs/${id}/tenants`)).tenants).toMatchObject([
      { tenant: tenants[0], error: new ServiceError('tenant_archived', 'x').code, is_exact: false },
      { tenant: tenants[1], error: null, counts: { hits: 1 } },
    ]);
  });

  it('selects tenants for a job by metadata, state, and name', async () => {
    const [first = '', second = ''] = await plantSecrets('selected', 2);
    await service().query(`UPDATE tenants SET metadata = '{"plan": "pro", "x": "y"}' WHERE id = $1`, [first]);
    await service().query('UPDATE tenants SET suspended_at = now() WHERE id = $1', [second]);
    const search = 'selected';
    expect(await start({ search, metadata: { plan: 'pro' } })).toMatchObject({ tenants: 1 });
    expect(await start({ search, status: 'active' })).toMatchObject({ tenants: 1 });
    expect(await start({ search, status: 'suspended' })).toMatchObject({ tenants: 1 });
    expect(await start({ search: 'SELECTED-' })).toMatchObject({ tenants: 2 });
    await run();
    expect((await get('/jobs?active=true')).jobs).toStrictEqual([]);
  });

  it('selects the tenants that an earlier job found, minus the tenants listed in except', async () => {
    const [first = '', second = '', third = ''] = await plantSecrets('found', 3);
    await write(freshTenant('found-clean'), cmd.create('/memories/a.md', 'clean'));
    const { id } = await start({ search: 'found-' });
    await run();
    const rest = { found_by: id, except: [second] };
    const again = await start(rest);
    expect(again).toMatchObject({ tenants: 2, selection: rest });
    await run();
    const listTenants = async (query: string) =>
      ((await get(`/jobs/${again.id}/tenants${query}`)).tenants as { tenant: string }[]).map(
        ({ tenant }) => tenant,
      );
    expect(await listTenants('')).toStrictEqual([first, third]);
    expect(await listTenants(`?search=${third.toUpperCase()}`)).toStrictEqual([third]);
    expect(await get(`/jobs/${again.id}/tenants?limit=1`)).toMatchObject({ total: 2 });
    const scoped = (await makeKey(service(), { isAdmin: true, onlyTenants: [first] })).key;
    const body = { text: SECRET, tenants: { found_by: id } };
    const rejected = await admin().call('POST', '/find', { body, key: scoped });
    expect([rejected.status, rejected.body.code]).toStrictEqual([404, 'not_found']);
  });

  it('filters versions in a find by actor, source, and time', async () => {
    const [tenant = ''] = await plantSecrets('filtered', 1);
    const change = (origin: string, at: string, operation: string) =>
      service().query(
        `UPDATE ${operation === 'created' ? 'versions' : 'entries'} SET origin = $2::jsonb, ${operation === 'created' ? 'created_at' : 'changed_at'} = $3::timestamptz
         WHERE tenant_id = $1 AND operation = $4`,
        [tenant, origin, at, operation],
      );
    await change(
      '{"actor": {"type": "api_key", "id": "k1", "label": "crawler", "source": "web"}}',
      '2026-01-01Z',
      'created',
    );
    await change('{"actor": {"type": "operator", "name": "ada"}}', '2026-02-01Z', 'modified');
    const count = async (more: object) => {
      const { id } = await start({ ids: [tenant] }, more);
      await run();
      const { current = 0, superseded = 0 } = (await get(`/jobs/${id}`)).counts as Record<string, number>;
      return [current, superseded];
    };
    expect(await count({})).toStrictEqual([1, 1]);
    expect(await count({ by: 'crawler' })).toStrictEqual([0, 1]);
    expect(await count({ source: 'web' })).toStrictEqual([0, 1]);
    expect(await count({ by: 'operator' })).toStrictEqual([1, 0]);
    expect(await count({ until: '2026-01-01T00:00:00Z' })).toStrictEqual([0, 1]);
    expect(await count({ since: '2026-01-01T00:00:00.000001Z' })).toStrictEqual([1, 0]);
  });

  it('shows no text from a version that was redacted after the find', async () => {
    const [tenant = ''] = await plantSecrets('redacted', 1);
    await write(tenant, cmd.replace('/memories/a.md', SECRET, 'removed'));
    const { id } = await start({ ids: [tenant] });
    await run();
    const [version] = await service().query(
      "SELECT id::text FROM versions WHERE tenant_id = $1 AND operation = 'created'",
      [tenant],
    );
    const redact = await admin().call('POST', `/tenants/${tenant}/versions/${version?.id}/redact`);
    expect(redact.status).toBe(200);
    const { hits } = await get(`/jobs/${id}/tenants/${tenant}/hits`);
    expect((hits as { version_id: string }[]).find((hit) => hit.version_id === version?.id)).toMatchObject({
      path: null,
      excerpt: null,
      redacted: true,
    });
  });

  it("deletes a job and its outcomes after 30 days, and a tenant's outcomes when the tenant is deleted", async () => {
    const [tenant = '', other = ''] = await plantSecrets('expired', 2);
    const { id } = await start({ ids: [tenant, other] });
    await run();
    const outcomes = () =>
      service().query('SELECT tenant_id FROM job_outcomes WHERE job_id::text = $1 ORDER BY 1', [id]);
    expect((await admin().call('DELETE', `/tenants/${other}`)).status).toBe(200);
    expect(await outcomes()).toStrictEqual([{ tenant_id: tenant }]);
    const to = freshTenant('renamed');
    expect((await admin().call('POST', `/tenants/${tenant}/rename`, { body: { to } })).status).toBe(200);
    expect(await outcomes()).toStrictEqual([{ tenant_id: to }]);
    const [job] = await service().query('SELECT ended_at::text AS at FROM jobs WHERE id::text = $1', [id]);
    const daysAfterJob = (days: number) => new Date(Date.parse(String(job?.at)) + days * 86_400_000);
    await deleteExpiredJobs(service().database, daysAfterJob(29));
    expect(await outcomes()).toHaveLength(1);
    await deleteExpiredJobs(service().database, daysAfterJob(31));
    expect(await outcomes()).toStrictEqual([]);
    expect((await admin().call('GET', `/jobs/${id}`)).status).toBe(404);
  });

  it('limits a scoped key to jobs in its own tenants', async () => {
    const [own = '', other = ''] = await plantSecrets('scoped', 2);
    const scoped = (await makeKey(service(), { isAdmin: true, onlyTenants: [own] })).key;
    const reader = (await makeKey(service(), { isAdmin: true, access: 'read_only' })).key;
    const code = ({ status, body }: AdminResponse) => [status, body.code];
    const post = (body: object, key: string) => admin().call('POST', '/find', { body, key });
    expect(code(await post({ text: 'x' }, reader))).toStrictEqual([403, 'read_only_key']);
    expect(code(await post({ text: 'x', tenants: { ids: [other] } }, scoped))).toStrictEqual([
      403,
      'outside_scope',
    ]);
    const all = await start({ search: 'scoped' });
    const mine = await start({}, {}, scoped);
    expect(mine).toMatchObject({ tenants: 1, only_tenants: [own] });
    await run();
    const getAsScoped = async (path: string) => admin().call('GET', path, { key: scoped });
    const listed = (await getAsScoped('/jobs')).body.jobs as { id: string }[];
    expect(listed.map(({ id }) => id)).toStrictEqual([mine.id]);
    expect(code(await getAsScoped(`/jobs/${all.id}`))).toStrictEqual([404, 'not_found']);
    expect(code(await getAsScoped(`/jobs/${all.id}/tenants`))).toStrictEqual([404, 'not_found']);
    expect(code(await getAsScoped(`/jobs/${all.id}/tenants/${own}/hits`))).toStrictEqual([404, 'not_found']);
    expect(code(await getAsScoped(`/jobs/${mine.id}/tenants/${other}/hits`))).toStrictEqual([
      403,
      'outside_scope',
    ]);
    expect(code(await admin().call('POST', `/jobs/${all.id}/cancel`, { key: scoped }))).toStrictEqual([
      404,
      'not_found',
    ]);
    expect((await getAsScoped(`/jobs/${mine.id}/tenants/${own}/hits`)).body).toMatchObject({ stored: 2 });
    expect((await get(`/jobs/${all.id}`)).counts).toMatchObject({ hits: 4 });
  });

  it('rejects a find with an invalid text, and a job beyond the limit on active jobs', async () => {
    const reject = async (body: object) => {
      const { status, body: problem } = await admin().call('POST', '/find', { body });
      return [status, problem.code, problem.detail];
    };
    expect(await reject({ text: 'a[', mode: 'regex' })).toStrictEqual([
      400,
      'invalid_parameter',
      'Invalid `query` parameter: it is not a regular expression in RE2 syntax: missing closing ]: `[`',
    ]);
    expect(await reject({ text: ' ' })).toStrictEqual([
      400,
      'invalid_parameter',
      'Invalid `query` parameter: it must not be empty',
    ]);
    expect(await reject({ text: 'x', by: 'a', source: 'b' })).toStrictEqual([
      400,
      'invalid_parameter',
      'The body requires `by` or `source`, not both.',
    ]);
    const tenants = await plantSecrets('many', 1);
    const createScopedKey = async () =>
      (await makeKey(service(), { isAdmin: true, onlyTenants: tenants })).key;
    const [one, two, three] = [await createScopedKey(), await createScopedKey(), await createScopedKey()];
    const post = (key: string | undefined) =>
      admin().call('POST', '/find', { body: { text: 'x', tenants: { ids: tenants } }, ...(key && { key }) });
    const started: string[] = [];
    const startAll = async (key: string | undefined, count: number) => {
      // At the same time, so that none exceeds the maximum.
      const responses = await Promise.all(Array.from({ length: count }, () => post(key)));
      for (const { status, body } of responses) if (status === 201) started.push(String(body.id));
      const rejected = responses.find(({ status }) => status !== 201);
      return [
        responses.filter(({ status }) => status === 201).length,
        rejected && [rejected.status, rejected.headers['retry-after'], rejected.body.detail],
      ];
    };
    const full = (whose: string) => [
      409,
      '10',
      `${whose} have not ended, the maximum. Wait, or cancel a job.`,
    ];
    expect(await startAll(one, 8)).toStrictEqual([5, full('5 jobs of this admin')]);
    expect(await startAll(two, 5)).toStrictEqual([5, undefined]);
    expect(await startAll(three, 1)).toStrictEqual([0, full('10 jobs of admins limited to certain tenants')]);
    expect(await startAll(undefined, 6)).toStrictEqual([5, full('5 jobs of this admin')]);
    for (const id of started) await admin().call('POST', `/jobs/${id}/cancel`);
  });
});

/** Returns a function that resolves when it was called `count` times, and from then on. */
function createBarrier(count: number): () => Promise<void> {
  let open = () => {};
  const met = new Promise<void>((resolve) => {
    open = resolve;
  });
  let calls = 0;
  return () => {
    if (++calls === count) open();
    return met;
  };
}
