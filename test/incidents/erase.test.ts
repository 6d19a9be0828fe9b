/**
 * Erasure of a text in many tenants: dry run, changes, drafts, resumption, and receipts.
 *
 * @module-tag long-on-pglite
 */
import { afterAll, expect, it } from 'vitest';
import { loadConfig } from '../../src/config.ts';
import { eraseJobs } from '../../src/incidents/erase-job.ts';
import { type JobKind, JobRunner } from '../../src/incidents/runner.ts';
import { useAdmin } from '../support/admin.ts';
import { Drafting } from '../support/drafts.ts';
import { encodingsOf, foundInTables } from '../support/encodings.ts';
import { assertInvariants, readTree } from '../support/invariants.ts';
import { describeServiceOnOwnDatabase, freshTenant } from '../support/service.ts';
import { cmd } from '../support/table.ts';

const SECRET = '4929 1234 5678 9012';

describeServiceOnOwnDatabase('an erasure of a text', (service) => {
  const admin = useAdmin(service);
  const drafting = new Drafting(service);
  const runners: JobRunner[] = [];
  let kind: JobKind | undefined;
  afterAll(async () => {
    await Promise.all(runners.map((runner) => runner.stop()));
    await kind?.close?.();
  });
  const erasing = () => {
    kind ??= eraseJobs(service().database, loadConfig({ AUTH: 'keys' }));
    return kind;
  };
  const runnerWith = (work: JobKind['work']) => {
    const runner = new JobRunner(
      service().database,
      [{ kind: 'erase', work, finish: (job) => erasing().finish?.(job) ?? Promise.resolve() }],
      (_, error) => {
        throw error;
      },
    );
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
    await runnerWith(erasing().work).run();
    return get(`/jobs/${id}`);
  }

  const get = async (path: string) => (await admin().call('GET', path)).body;

  it('counts the places in a dry run, and then removes every trace', async () => {
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
    expect(await foundInTables(service(), encodingsOf(SECRET))).toStrictEqual([]);
    await assertInvariants(service());
    const again = await run({ tenants: { ids }, dry_run: false });
    expect(again.counts).toMatchObject({ titles: 0, results: 0, settings: 0 });
    expect((await get(`/jobs/${again.id}/tenants`)).tenants).toStrictEqual([]);
  });
});
