/**
 * The record for each change by every kind of caller, and the past memory.
 *
 * @module-tag long-on-pglite
 */
import { expect, it } from 'vitest';
import { expireFiles } from '../../src/core/files/expiry.ts';
import { History, type VersionFilter } from '../../src/core/history/history.ts';
import { findAt, treePageAt } from '../../src/core/history/past.ts';
import type { Version } from '../../src/core/history/version.ts';
import { type MemoryPath, ROOT } from '../../src/core/memory/path.ts';
import { Keys, newApiKey } from '../../src/core/tenants/keys.ts';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { writeImport } from '../../src/features/archive/import-transaction.ts';
import { assertInvariants, readTree } from '../support/invariants.ts';
import { cmd } from '../support/step-table.ts';
import { describeService, freshTenant, type Service } from '../support/test-service.ts';

const openHistory = (service: Service) => new History(service.database);

async function readVersions(
  service: Service,
  tenant: string,
  filter: Partial<VersionFilter> = {},
): Promise<Version[]> {
  const all: Version[] = [];
  for await (const version of openHistory(service).versions(tenant, filter)) all.push(version);
  return all;
}

/** Returns a tenant's log as short lines, the oldest first. */
async function log(service: Service, tenant: string): Promise<string[]> {
  const all = await readVersions(service, tenant);
  return all
    .reverse()
    .map(({ operation, path, contentSizeBytes }) => `${operation} ${path} ${contentSizeBytes}`);
}

async function databaseTime(service: Service): Promise<string> {
  const [row] = await service.query(
    `SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS now`,
  );
  return String(row?.now);
}

async function lastChange(service: Service, tenant: string): Promise<string> {
  const [row] = await service.query(
    `SELECT to_char(last_change_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS at
     FROM tenants WHERE id = $1::text`,
    [tenant],
  );
  return String(row?.at);
}

async function treeAt(service: Service, tenant: string, at: string): Promise<Map<string, string | null>> {
  const entries = await treePageAt(openHistory(service), tenant, ROOT, at, { after: '', limit: 10_000 });
  const contents = await openHistory(service).contents(
    tenant,
    entries.flatMap(({ versionId, memoryId }) =>
      versionId === null || memoryId === null ? [] : [{ versionId, memoryId }],
    ),
  );
  const findContent = (id: string | null) => (id === null ? null : (contents.get(id) ?? 'missing'));
  return new Map([
    [ROOT, null],
    ...entries.map(({ path, versionId }) => [path, findContent(versionId)] as const),
  ]);
}

/** Executes each step and throws if one fails. */
async function run(service: Service, tenant: string, ...steps: object[]): Promise<void> {
  for (const step of steps) {
    const { body } = await service.execute(step, { tenant });
    expect(body).toMatchObject({ is_error: false });
  }
}

const f = '/memories/f.md';

describeService('the record for a change', (service) => {
  it('records one version for each file that a command changes', async () => {
    const tenant = freshTenant();
    await run(
      ...([service(), tenant, cmd.create(f, 'one\n'), cmd.replace(f, 'one', 'three')] as const),
      cmd.insert(f, 0, 'zero\n'),
      cmd.rename(f, '/memories/g.md'),
      cmd.delete('/memories/g.md'),
    );
    expect(await log(service(), tenant)).toStrictEqual([
      `created ${f} 4`,
      `modified ${f} 6`,
      `modified ${f} 11`,
      'renamed /memories/g.md 11',
      'deleted /memories/g.md null',
    ]);
    const all = (await readVersions(service(), tenant)).reverse();
    expect(new Set(all.map(({ memoryId }) => memoryId)).size).toBe(1);
    expect(new Set(all.map(({ id }) => id)).size).toBe(5);
    expect(all.map(({ createdAt }) => createdAt)).toStrictEqual(all.map((each) => each.createdAt).sort());
    expect(new Set(all.map(({ createdAt }) => createdAt)).size).toBe(5);
    // Each version is superseded by the next one, and a deletion immediately.
    expect(all.map(({ supersededAt }) => supersededAt)).toStrictEqual([
      ...all.slice(1).map(({ createdAt }) => createdAt),
      all.at(-1)?.createdAt,
    ]);
    expect(all[2]?.contentSha256).toBe(all[3]?.contentSha256);
    const contents = await Promise.all(
      all.map(({ id }) => openHistory(service()).requireWithContent(tenant, id)),
    );
    expect(contents.map((each) => each?.content)).toStrictEqual([
      'one\n',
      'three\n',
      'zero\nthree\n',
      'zero\nthree\n',
      null,
    ]);
    expect(all[0]?.contentSha256).toBe('2c8b08da5ce60398e1f19af0e5dccc744df274b826abe585eaba68c525434806');
    await assertInvariants(service());
  });

  it('records the same time for all files below a renamed directory, and copies no content', async () => {
    const tenant = freshTenant();
    await run(service(), tenant, cmd.create('/memories/d/a', 'a'), cmd.create('/memories/d/e/b', 'bb'));
    const ids = (await readVersions(service(), tenant)).map(({ memoryId }) => memoryId).sort();
    await run(service(), tenant, cmd.rename('/memories/d', '/memories/x/y'));
    expect(
      await service().query("SELECT * FROM versions WHERE tenant_id = $1 AND content <> ''", [tenant]),
    ).toEqual([]);
    await run(service(), tenant, cmd.delete('/memories/x'));
    const versions = await readVersions(service(), tenant);
    expect(versions.map(({ operation, path }) => `${operation} ${path}`).sort()).toStrictEqual([
      'created /memories/d/a',
      'created /memories/d/e/b',
      'deleted /memories/x/y/a',
      'deleted /memories/x/y/e/b',
      'renamed /memories/x/y/a',
      'renamed /memories/x/y/e/b',
    ]);
    expect(new Set(versions.map(({ createdAt }) => createdAt)).size).toBe(4);
    expect([...new Set(versions.map(({ memoryId }) => memoryId))].sort()).toStrictEqual(ids);
    expect(
      await service().query(
        "SELECT content FROM versions WHERE tenant_id = $1 AND content <> '' ORDER BY content",
        [tenant],
      ),
    ).toStrictEqual([{ content: 'a' }, { content: 'bb' }]);
    await assertInvariants(service());
  });

  it("assigns a new ID to a file that is created at a deleted file's path", async () => {
    const tenant = freshTenant();
    await run(service(), tenant, cmd.create(f, '1'), cmd.delete(f), cmd.create(f, '2'));
    const [second, deleted, first] = await readVersions(service(), tenant, { path: f });
    expect(first?.memoryId).toBe(deleted?.memoryId);
    expect(second?.memoryId).not.toBe(first?.memoryId);
  });

  it('records no version if the change fails or leaves the content unchanged', async () => {
    const tenant = freshTenant();
    await run(service(), tenant, cmd.create(f, 'text'), cmd.replace(f, 'text', 'text'), cmd.insert(f, 0, ''));
    const failing = [
      cmd.create(f, 'other'),
      cmd.replace(f, 'none', 'x'),
      cmd.insert(f, 9, 'x'),
      cmd.delete('/memories/none'),
      cmd.rename('/memories/none', '/memories/x'),
      cmd.rename(f, f),
    ];
    for (const step of failing) expect((await service().execute(step, { tenant })).is_error).toBe(true);
    // An empty text before the first line may add a line break.
    const lines = (await log(service(), tenant)).filter((line) => !line.endsWith(' 5'));
    expect(lines).toStrictEqual([`created ${f} 4`]);
    await run(service(), tenant, cmd.replace(f, 'text', 'longer'));
    await assertInvariants(service());
  });

  it('records one version if a request with an idempotency key is repeated', async () => {
    const tenant = freshTenant();
    const steps = [
      cmd.create(f, 'one'),
      cmd.replace(f, 'one', 'two'),
      cmd.rename(f, '/memories/g'),
      cmd.delete('/memories/g'),
    ];
    for (const [i, input] of steps.entries()) {
      const block = { type: 'tool_use', id: `toolu_${i}`, name: 'memory', input };
      const headers = { 'x-request-id': `request-${i}` };
      for (const _ of [1, 2]) {
        expect((await service().execute(block, { tenant, headers })).is_error).toBe(false);
      }
    }
    const versions = (await readVersions(service(), tenant)).reverse();
    expect(versions.map(({ toolUseId, requestId }) => [toolUseId, requestId])).toStrictEqual(
      [0, 1, 2, 3].map((i) => [`toolu_${i}`, `request-${i}`]),
    );
    await assertInvariants(service());
  });

  it('replaces unprintable characters in a tool_use ID', async () => {
    const tenant = freshTenant();
    const id = `a\u0001b\u202e${'x'.repeat(251)}`;
    const block = { type: 'tool_use', id, name: 'memory', input: cmd.create(f, 'x') };
    expect((await service().execute(block, { tenant })).is_error).toBe(false);
    const [version] = await readVersions(service(), tenant);
    expect(version?.toolUseId).toBe(`a\uFFFDb\uFFFD${'x'.repeat(251)}`);
    expect(version?.actor).toStrictEqual({ type: 'anonymous' });
  });

  it('records the operator and the import time for imported files', async () => {
    const tenant = freshTenant();
    await new Tenants(service().database).create(tenant);
    const modified = new Date('2001-02-03T04:05:06Z');
    const file = { path: '/memories/a/f' as MemoryPath, content: 'text', modified };
    const source = {
      entries: new Map([
        [ROOT, { kind: 'dir' as const, modified }],
        ['/memories/a' as MemoryPath, { kind: 'dir' as const, modified }],
        [file.path, { kind: 'file' as const, modified }],
      ]),
      files: 1,
      bytes: 4,
      batches: async function* () {
        yield [file];
      },
    };
    const before = await databaseTime(service());
    const actor = { type: 'operator', name: 'ada' } as const;
    const context = { quotas: { maxFiles: 0, maxBytes: 0 }, origin: { actor } };
    await writeImport(service().database, tenant, source, { ...context, dryRun: true });
    expect(await readVersions(service(), tenant)).toStrictEqual([]);
    await writeImport(service().database, tenant, source, context);
    const [version] = await readVersions(service(), tenant);
    expect(version).toMatchObject({ actor, operation: 'created', path: '/memories/a/f', requestId: null });
    expect(String(version?.createdAt) > before).toBe(true);
    expect(await readVersions(service(), tenant, { by: 'ada' })).toHaveLength(1);
    expect(await readVersions(service(), tenant, { by: 'operator' })).toHaveLength(1);
    expect(await readVersions(service(), tenant, { by: 'anonymous' })).toHaveLength(0);
  });

  it('records the expiration job as the actor when a file expires', async () => {
    const tenant = freshTenant();
    await run(service(), tenant, cmd.create('/memories/d/old', 'old'), cmd.create('/memories/d/new', 'new'));
    await service().query(
      `UPDATE entries SET accessed_at = now() - interval '9 days', updated_at = now() - interval '9 days'
       WHERE tenant_id = $1::text AND path = '/memories/d/old'`,
      [tenant],
    );
    await service().query('UPDATE tenants SET ttl_days = 3 WHERE id = $1', [tenant]);
    await expireFiles(service().database, { defaultTtlDays: 0, historyDays: 30, maxHistoryBytes: 0 });
    const [version, ...others] = await readVersions(service(), tenant, { by: 'expiration' });
    expect(others).toStrictEqual([]);
    expect(version).toMatchObject({ operation: 'deleted', path: '/memories/d/old', contentSha256: null });
    expect(version?.actor).toStrictEqual({ type: 'system', job: 'expiration' });
    await assertInvariants(service());
  });

  it("keeps no superseded versions, and rejects past reads, if the tenant's history is disabled", async () => {
    const tenant = freshTenant();
    await new Tenants(service().database).create(tenant);
    await new Tenants(service().database).set(tenant, { historyDays: 0 });
    await run(service(), tenant, cmd.create('/memories/d/f', '1'));
    const created = await lastChange(service(), tenant);
    const [first] = await readVersions(service(), tenant);
    await run(
      service(),
      tenant,
      cmd.replace('/memories/d/f', '1', '2'),
      cmd.rename('/memories/d', '/memories/e'),
    );
    expect(await log(service(), tenant)).toStrictEqual(['renamed /memories/e/f 1']);
    expect((await readVersions(service(), tenant))[0]?.memoryId).toBe(first?.memoryId);
    await expect(treeAt(service(), tenant, created)).rejects.toMatchObject({ code: 'history_incomplete' });
    await run(service(), tenant, cmd.delete('/memories/e'));
    expect(await log(service(), tenant)).toStrictEqual([]);
    expect(await new Tenants(service().database).find(tenant)).toMatchObject({
      historyBytes: 0,
      historyVersions: 0,
    });
    await assertInvariants(service());
  });

  it("keeps a tenant's versions until the tenant is deleted", async () => {
    const tenant = freshTenant();
    await run(service(), tenant, cmd.create('/memories/d/f', '1'), cmd.replace('/memories/d/f', '1', '2'));
    await run(service(), tenant, cmd.delete('/memories/d'));
    expect(await new Tenants(service().database).delete(tenant)).toStrictEqual({
      entries: 1,
      versions: 3,
      directories: 1,
      storedResults: 0,
      keys: 0,
    });
    await assertInvariants(service());
  });
});

describeService("a memory's past", (service) => {
  it('returns every file and directory as it was at each past time', async () => {
    const tenant = freshTenant();
    const steps = [
      cmd.create('/memories/a/f', '1'),
      cmd.create('/memories/a/b/g', '2'),
      cmd.replace('/memories/a/f', '1', '11'),
      cmd.rename('/memories/a/b', '/memories/c'),
      cmd.delete('/memories/c/g'),
      cmd.delete('/memories/c'),
      cmd.rename('/memories/a/f', '/memories/a/h'),
      cmd.create('/memories/a/f', 'new'),
      cmd.insert('/memories/a/h', 1, 'x'),
      cmd.rename('/memories/a', '/memories/z'),
      cmd.create('/memories/a/f', ''),
      cmd.delete('/memories/z'),
      cmd.create('/memories/c/g/k', 'deep'),
      cmd.rename('/memories/c/g', '/memories/q/r/s'),
      cmd.delete('/memories/c'),
    ];
    const then: [string, ReadonlyMap<string, string | null>][] = [];
    for (const step of steps) {
      await run(service(), tenant, step);
      then.push([await lastChange(service(), tenant), await readTree(service(), tenant)]);
    }
    for (const [at, tree] of then) {
      expect([at, await treeAt(service(), tenant, at)]).toEqual([at, tree]);
      for (const path of new Set(then.flatMap(([, each]) => [...each.keys()]))) {
        const content = tree.get(path);
        const expected =
          content === undefined
            ? { kind: 'missing' }
            : content === null
              ? { kind: 'dir' }
              : { kind: 'file', content };
        expect(await findAt(openHistory(service()), tenant, path as MemoryPath, at)).toMatchObject(expected);
      }
    }
    expect(new Set(then.map(([at]) => at)).size).toBe(steps.length);
    await assertInvariants(service());
  });

  it('reads more past files than one page contains, and filters versions by path, time, and operation', async () => {
    const tenant = freshTenant();
    await run(service(), tenant, cmd.create('/memories/big/f', 'x'));
    await service().query(
      `INSERT INTO entries (tenant_id, path, parent_path, kind, content, version, memory_id, operation, changed_at)
       SELECT $1::text, '/memories/big/f' || n, '/memories/big', 'file', 'text ' || n, id, id, 'created', now()
       FROM generate_series(1, 1200) AS n,
         LATERAL (SELECT memory_version_id(memory_id_prefix(now()), md5(n::text)::uuid) AS id) AS made`,
      [tenant],
    );
    await service().query(
      `UPDATE tenants SET file_count = 1201, byte_count = (SELECT sum(size_bytes) FROM entries WHERE tenant_id = $1::text)
       WHERE id = $1::text`,
      [tenant],
    );
    const before = await databaseTime(service());
    await run(service(), tenant, cmd.rename('/memories/big', '/memories/moved'), cmd.create(f, 'new'));
    expect(await readVersions(service(), tenant)).toHaveLength(2403);
    expect(await readVersions(service(), tenant, { path: '/memories/big' })).toHaveLength(2402);
    expect(await readVersions(service(), tenant, { path: '/memories/big/f7' })).toHaveLength(2);
    expect(await readVersions(service(), tenant, { since: before })).toHaveLength(1202);
    expect(await readVersions(service(), tenant, { until: before, operation: 'created' })).toHaveLength(1201);
    const tree = await treeAt(service(), tenant, before);
    expect(tree.size).toBe(1203);
    expect(tree.get('/memories/big/f1200')).toBe('text 1200');
    await assertInvariants(service());
  });
});

describeService(
  'a change by an API key',
  (service) => {
    it('records the service key as the actor, by ID and label', async () => {
      const tenant = freshTenant('history-key');
      const { key, hash, id } = newApiKey();
      const api = { hash, id, tenant: null, access: 'read_write', label: 'laptop', expiresAt: null } as const;
      await new Keys(service().database).create(api);
      const headers = { authorization: `Bearer ${key}` };
      expect((await service().execute(cmd.create(f, 'x'), { tenant, headers })).is_error).toBe(false);
      for (const by of [id, 'laptop']) {
        const [version] = await readVersions(service(), tenant, { by });
        expect(version?.actor).toStrictEqual({ type: 'api_key', id, label: 'laptop' });
      }
    });
  },
  { AUTH: 'keys' },
);

describeService(
  'a tenant without history',
  (service) => {
    it("keeps only a file's current version", async () => {
      const tenant = freshTenant();
      await run(service(), tenant, cmd.create(f, 'one'), cmd.replace(f, 'one', 'two'));
      expect(await log(service(), tenant)).toStrictEqual([`modified ${f} 3`]);
      await assertInvariants(service());
    });
  },
  { HISTORY_DAYS: '0' },
);
