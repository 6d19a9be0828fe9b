/**
 * Many agents and one shared memory: no edit is lost, and each agent sees only its mounts.
 *
 * @module-tag long-on-pglite
 */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { setMount } from '../../src/core/tenants/mounts.ts';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { fuzzParameters } from '../support/arbitraries.ts';
import { readTree } from '../support/invariants.ts';
import { Model } from '../support/model.ts';
import { cmd } from '../support/step-table.ts';
import { describeService, freshTenant, type Service, startSharedService } from '../support/test-service.ts';

const AGENTS = 40;
const EDITS = 10;

async function createAgents({ database }: Service, count: number, shared: string): Promise<string[]> {
  const agents = Array.from({ length: count }, () => freshTenant('agent'));
  for (const agent of agents) {
    await new Tenants(database).create(agent);
    await setMount(database, agent, { name: 'team', tenant: shared, access: 'read_write', instructions: '' });
  }
  return agents;
}

describeService('a shared file', (service, kind) => {
  it('contains each edit exactly once after 40 agents on two replicas make 400 edits', {
    tags: 'mounted',
  }, async () => {
    const shared = freshTenant('shared');
    await new Tenants(service().database).create(shared);
    const agents = await createAgents(service(), AGENTS, shared);
    await service().execute(cmd.create('/memories/log', 'start'), { tenant: shared });
    const replica = await startSharedService(kind);
    try {
      await Promise.all(
        agents.map(async (tenant, agent) => {
          for (let edit = 0; edit < EDITS; edit++) {
            const on = (agent + edit) % 2 === 0 ? service() : replica;
            const line = `agent ${agent} edit ${edit}`;
            const input =
              edit % 2 === 0
                ? cmd.insert('/memories/team/log', 1, line)
                : cmd.replace('/memories/team/log', 'start', `start\n${line}`);
            // All agents use the same IDs.
            const block = { type: 'tool_use', id: `edit-${edit}`, name: 'memory', input };
            const { content, is_error } = await on.execute(block, { tenant });
            expect([content, is_error]).toStrictEqual([expect.stringContaining(' edited.'), false]);
          }
        }),
      );
    } finally {
      await replica.close();
    }
    const lines = (await readTree(service(), shared)).get('/memories/log')?.split('\n') ?? [];
    const expected = agents.flatMap((_, agent) =>
      Array.from({ length: EDITS }, (_unused, edit) => `agent ${agent} edit ${edit}`),
    );
    expect(lines.toSorted()).toStrictEqual([...expected, 'start'].toSorted());
    const versions = await service().query(
      "SELECT origin ->> 'viaTenant' AS via, count(*)::integer AS count FROM memory_versions WHERE tenant_id = $1 AND operation = 'modified' GROUP BY 1",
      [shared],
    );
    expect(new Map(versions.map(({ via, count }) => [via, count]))).toStrictEqual(
      new Map(agents.map((agent) => [agent, EDITS])),
    );
  });
});

const path = fc.constantFrom('/f', '/g', '/d/f', '/d/e/f', '/d');
const root = fc.constantFrom('/memories', '/memories/team');
const at = fc.tuple(root, path).map(([root, path]) => root + path);
const step = fc.record({
  agent: fc.nat(5),
  make: fc.oneof(
    at.map((path) => () => cmd.view(path)),
    at.map((path) => (secret: string) => cmd.create(path, `first\n${secret}\nlast`)),
    at.map((path) => (secret: string) => cmd.replace(path, 'first', `first ${secret}`)),
    at.map((path) => (secret: string) => cmd.insert(path, 0, secret)),
    at.map((path) => () => cmd.delete(path)),
    fc.tuple(root, path, path).map(
      ([root, from, to]) =>
        () =>
          cmd.rename(root + from, root + to),
    ),
  ),
});

describeService('isolation with mounts', (service, kind) => {
  it('returns the same results to six simultaneous agents with mounts as to one agent alone', {
    tags: 'random',
  }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 40, maxLength: 80, size: 'max' }), async (all) => {
        const { database } = service();
        // Six agents with a separate team memory each: the same names for different memories.
        const agents = Array.from({ length: 6 }, () => ({
          own: freshTenant('own'),
          team: freshTenant('team'),
        }));
        await Promise.all(
          agents.map(async ({ own, team }, mine) => {
            for (const tenant of [own, team]) await new Tenants(database).create(tenant);
            await setMount(database, own, {
              name: 'team',
              tenant: team,
              access: 'read_write',
              instructions: '',
            });
            const model = new Model();
            model.tree = new Map([...model.tree, ['/memories/team', null]]);
            for (const { make } of all.filter(({ agent }) => agent === mine)) {
              const input = make(`<secret ${mine}>`);
              const { content, is_error } = await service().execute(input, { tenant: own });
              expect({ mine, input, content, is_error }).toStrictEqual({ mine, input, ...model.run(input) });
            }
          }),
        );
        for (const [mine, { own, team }] of agents.entries()) {
          const text = JSON.stringify([
            ...(await readTree(service(), own)),
            ...(await readTree(service(), team)),
          ]);
          expect(text.replaceAll(`<secret ${mine}>`, '')).not.toContain('<secret');
        }
      }),
      fuzzParameters(kind === 'postgres' ? 60 : 20),
    );
  });
});
