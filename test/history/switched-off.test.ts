/**
 * Versions from before the history was disabled keep their contents when the current version is replaced.
 *
 * @module-tag long-on-pglite
 */
import { afterAll, expect, it } from 'vitest';
import { expireFiles } from '../../src/core/files/expiry.ts';
import { History } from '../../src/core/history/history.ts';
import { eraseVersion } from '../../src/core/history/redact.ts';
import { restoreVersion } from '../../src/core/history/restore.ts';
import { revertActor } from '../../src/core/history/revert.ts';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { Drafting } from '../support/drafting.ts';
import { assertInvariants } from '../support/invariants.ts';
import { readAll, sdk } from '../support/memory-stores.ts';
import { OPERATOR, run } from '../support/restore-run.ts';
import { cmd } from '../support/step-table.ts';
import { describeService, freshTenant, type Service } from '../support/test-service.ts';

const PATH = '/memories/d/f';

interface Fixture {
  service: Service;
  tenant: string;
  drafting: Drafting;
  /** Versions of the file, the oldest first. */
  versions: { id: string; memoryId: string }[];
}

const tool =
  (...steps: object[]) =>
  ({ service, tenant }: Fixture) =>
    run(service, tenant, ...steps);

/** Returns the file as a memory in the Memory Stores API. */
async function findMemory({ service, tenant }: Fixture) {
  const { memories } = sdk(service, 'any').beta.memoryStores;
  const [memory] = await readAll(memories.list(tenant));
  return { memories, id: (memory as { id: string }).id };
}

/** Every operation that can replace, move, or delete a file. */
const WRITERS: Record<string, (fixture: Fixture) => Promise<unknown>> = {
  'an insert': tool(cmd.insert(PATH, 0, '4\n')),
  'a replacement': tool(cmd.replace(PATH, '3\n', '')),
  'a create that overwrites': tool(cmd.create(PATH, 'new')),
  'a rename, then an edit': tool(cmd.rename(PATH, '/memories/g'), cmd.insert('/memories/g', 0, '4\n')),
  'a rename of the directory, then its deletion': tool(
    cmd.rename('/memories/d', '/memories/e'),
    cmd.delete('/memories/e'),
  ),
  'a deletion': tool(cmd.delete(PATH)),
  'a deletion of the directory': tool(cmd.delete('/memories/d')),
  'an expiration': async ({ service, tenant }) => {
    await service.query(
      "UPDATE entries SET accessed_at = '2026-01-01Z', updated_at = '2026-01-01Z' WHERE tenant_id = $1 AND kind = 'file'",
      [tenant],
    );
    await new Tenants(service.database).set(tenant, { ttlDays: 1 });
    await expireFiles(service.database, { defaultTtlDays: 0, historyDays: 30, maxHistoryBytes: 0 });
  },
  'a restore': ({ service, tenant, versions }) =>
    restoreVersion(service.database, tenant, { version: String(versions[0]?.id) }, OPERATOR),
  'a revert': ({ service, tenant }) =>
    revertActor(service.database, tenant, { by: 'anonymous', since: '2026-01-01T00:00:00Z' }, OPERATOR),
  'a merge that edits': async ({ service, tenant, drafting }) => {
    const draft = await drafting.create(tenant);
    await run(service, draft.id, cmd.insert(PATH, 0, '4\n'));
    await drafting.merge(draft);
  },
  'a merge that deletes': async ({ service, tenant, drafting }) => {
    const draft = await drafting.create(tenant);
    await run(service, draft.id, cmd.delete(PATH));
    await drafting.merge(draft);
  },
  'a replacement by a draft': async ({ service, tenant, drafting }) => {
    const draft = await drafting.create(tenant);
    await run(service, draft.id, cmd.replace(PATH, '3\n', '33\n'));
    await drafting.replace(draft);
  },
  'an update of a memory': async (fixture) => {
    const { memories, id } = await findMemory(fixture);
    await memories.update(id, { memory_store_id: fixture.tenant, content: 'new' });
  },
  'an update of a memory and its path': async (fixture) => {
    const { memories, id } = await findMemory(fixture);
    await memories.update(id, { memory_store_id: fixture.tenant, path: '/d', content: 'new' });
  },
  'a deletion of a memory': async (fixture) => {
    const { memories, id } = await findMemory(fixture);
    await memories.delete(id, { memory_store_id: fixture.tenant });
  },
};

describeService(
  'a tenant whose history is disabled',
  (service) => {
    const drafting = new Drafting(service);
    afterAll(() => assertInvariants(service()));

    async function readVersions(tenant: string) {
      const versions = [];
      for await (const version of new History(service().database).versions(tenant)) versions.push(version);
      return versions.reverse();
    }

    it.each(Object.entries(WRITERS))(
      'keeps older versions unchanged after %s while the history is disabled',
      async (_, write) => {
        const tenant = freshTenant('off');
        await run(
          service(),
          tenant,
          cmd.create(PATH, '1\n'),
          cmd.insert(PATH, 0, '2\n'),
          cmd.insert(PATH, 0, '3\n'),
        );
        const versions = await readVersions(tenant);
        await new Tenants(service().database).set(tenant, { historyDays: 0 });
        await write({ service: service(), tenant, drafting, versions });

        const kept = (await readVersions(tenant)).map(({ id }) => id);
        expect(kept.slice(0, 2)).toStrictEqual(versions.slice(0, 2).map(({ id }) => id));
        expect(kept).not.toContain(versions[2]?.id);
        const history = new History(service().database);
        const contents = await history.contents(
          tenant,
          versions.map(({ id, memoryId }) => ({ versionId: id, memoryId })),
        );
        expect([...contents.values()]).toStrictEqual(['1\n', '2\n1\n']);
      },
    );

    it("keeps each version's content when the history is enabled again and when a version is redacted", async () => {
      const tenant = freshTenant('off');
      const set = (historyDays: number) => new Tenants(service().database).set(tenant, { historyDays });
      await run(
        service(),
        tenant,
        cmd.create(PATH, '1\n'),
        cmd.insert(PATH, 0, '2\n'),
        cmd.insert(PATH, 0, '3\n'),
      );
      await set(0);
      await run(service(), tenant, cmd.insert(PATH, 0, '4\n'), cmd.insert(PATH, 0, '5\n'));
      await set(30);
      await run(service(), tenant, cmd.insert(PATH, 0, '6\n'), cmd.insert(PATH, 0, '7\n'));
      const versions = await readVersions(tenant);
      const contents = async () => {
        const named = versions.map(({ id, memoryId }) => ({ versionId: id, memoryId }));
        return [...(await new History(service().database).contents(tenant, named)).values()];
      };
      expect(await contents()).toStrictEqual([
        '1\n',
        '2\n1\n',
        '5\n4\n3\n2\n1\n',
        '6\n5\n4\n3\n2\n1\n',
        '7\n6\n5\n4\n3\n2\n1\n',
      ]);
      await eraseVersion(service().database, tenant, String(versions[1]?.id), OPERATOR.origin);
      await eraseVersion(service().database, tenant, String(versions[3]?.id), OPERATOR.origin);
      expect(await contents()).toStrictEqual(['1\n', '5\n4\n3\n2\n1\n', '7\n6\n5\n4\n3\n2\n1\n']);
    });
  },
  { CREATE_EXISTING: 'overwrite' },
);
