/**
 * Actors who wrote a find's hits, and the jobs in an incident.
 *
 * @module-tag long-on-pglite
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { makeKey, useAdmin } from '../support/admin.ts';
import { runJobs } from '../support/run-jobs.ts';
import { createAgent } from '../support/start-console.ts';
import { cmd } from '../support/step-table.ts';
import { describeServiceOnOwnDatabase, freshTenant } from '../support/test-service.ts';

const CARD = '4929 1234 5678 9012';

describeServiceOnOwnDatabase(
  'incidents',
  (service) => {
    const admin = useAdmin(service);
    let stopJobs: (() => Promise<void>) | undefined;
    beforeAll(() => {
      stopJobs = runJobs(service());
    });
    afterAll(() => stopJobs?.());

    const get = async (path: string) => (await admin().call('GET', path)).body;

    async function start(path: string, body?: object) {
      const response = await admin().call('POST', path, body === undefined ? {} : { body });
      expect([response.status, response.text]).toStrictEqual([201, expect.any(String)]);
      const { id } = response.body as { id: string };
      await expect.poll(async () => ((await get(`/jobs/${id}`)) as { state: string }).state).toBe('done');
      return id;
    }

    async function createAgents(tenant: string) {
      await new Tenants(service().database).create(tenant);
      const agents = ['crawler', 'editor'].map((label) =>
        createAgent(service().app, service().database, tenant, label),
      );
      return Promise.all(agents);
    }

    it("lists a find's actors with the files into which each wrote the text first", async () => {
      const tenants = [freshTenant('actors'), freshTenant('actors')];
      for (const tenant of tenants) {
        const [crawler, editor] = await createAgents(tenant);
        await crawler?.(cmd.create('/memories/a.md', `first\npay ${CARD}\n`));
        await crawler?.(cmd.create('/memories/b.md', 'pay 4929-1234-5678-9012\n'));
        // The editor's version contains the text too, but the crawler wrote it.
        await editor?.(cmd.replace('/memories/a.md', 'first', 'second'));
      }
      const find = await start('/find', { text: '4929123456789012', tenants: { ids: tenants } });
      const { actors } = (await get(`/jobs/${find}/actors`)) as { actors: { actor: { label: string } }[] };
      // Each tenant has other keys.
      expect(actors.map(({ actor, ...counts }) => ({ label: actor.label, ...counts }))).toStrictEqual([
        { label: 'crawler', hits: 2, files: 2, tenants: 1, since: expect.any(String) },
        { label: 'crawler', hits: 2, files: 2, tenants: 1, since: expect.any(String) },
        { label: 'editor', hits: 1, files: 0, tenants: 1, since: expect.any(String) },
        { label: 'editor', hits: 1, files: 0, tenants: 1, since: expect.any(String) },
      ]);
      const erasure = await start('/erase', { text: CARD, tenants: { ids: tenants } });
      expect(((await get(`/jobs/${erasure}/actors`)) as { actors: unknown[] }).actors).toHaveLength(4);
    });

    it('adds up the hits of one key over all tenants, also after a change to its label', async () => {
      const tenants = [freshTenant('actors'), freshTenant('actors')];
      const { key, id } = await makeKey(service(), { label: 'assistant' });
      for (const tenant of tenants) {
        await new Tenants(service().database).create(tenant);
        const headers = { authorization: `Bearer ${key}` };
        const written = await service().execute(cmd.create('/memories/a.md', CARD), { tenant, headers });
        expect(written.body).toMatchObject({ is_error: false });
        await admin().call('PATCH', `/keys/${id}`, { body: { label: 'another label' } });
      }
      const find = await start('/find', { text: CARD, tenants: { ids: tenants } });
      expect(await get(`/jobs/${find}/actors`)).toMatchObject({
        actors: [{ actor: { type: 'api_key', id }, hits: 2, files: 2, tenants: 2 }],
      });
    });

    it("lists the jobs after an incident's first job, also those that apply a dry run", async () => {
      const tenant = freshTenant('incident');
      const [crawler] = await createAgents(tenant);
      await crawler?.(cmd.create('/memories/a.md', CARD));
      const tenants = { ids: [tenant] };
      const find = await start('/find', { text: CARD, tenants });
      const dryRun = await start('/revert', { since: '1h', by: 'crawler', tenants, incident: find });
      const revert = await start(`/jobs/${dryRun}/apply`);
      const erasure = await start('/erase', { text: CARD, tenants, incident: find });
      const listIds = async (incident: string) =>
        ((await get(`/jobs?incident=${incident}`)) as { jobs: { id: string }[] }).jobs.map(({ id }) => id);
      expect(await listIds(find)).toStrictEqual([erasure, revert, dryRun]);
      // A dry run without an incident begins one.
      const second = await start('/revert', { since: '1h', by: 'crawler', tenants });
      const applied = await start(`/jobs/${second}/apply`);
      expect(await listIds(second)).toStrictEqual([applied]);
      const unknown = { text: CARD, incident: '0e3b6c1e-52f5-4f0a-9d5b-0c8f6a1d9b52' };
      expect((await admin().call('POST', '/find', { body: unknown })).status).toBe(404);
    });
  },
  { AUTH: 'keys' },
);
