/**
 * Searches after writes, with the files that earlier searches kept in memory.
 *
 * @module-tag long-on-pglite
 */
import { expect, it } from 'vitest';
import { loadConfig } from '../../src/core/config.ts';
import { Services } from '../../src/core/files/services.ts';
import { searchForOperator } from '../../src/features/search/operator-search.ts';
import { memorySearch } from '../../src/features/search/search.ts';
import { createSecretScanner } from '../../src/features/secrets/scanner.ts';
import { buildAdminApp } from '../../src/service/admin-app.ts';
import { cmd } from '../support/step-table.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { describeService, freshTenant, type Service, startService } from '../support/test-service.ts';

async function searchIn(service: Service, tenant: string, input: object): Promise<string> {
  const headers = { 'x-tenant-id': tenant };
  const response = await service.app.inject({ method: 'POST', url: '/search', headers, payload: input });
  return response.json().content;
}

/** Returns each file's content, as a search for lines sees the files. */
async function lines(service: Service, tenant: string, path = '/memories'): Promise<string[]> {
  const content = await searchIn(service, tenant, { query: 'x', mode: 'literal', path, max_results: 100 });
  return content.split('\n').slice(1);
}

const WRITES: [input: object, lines: string[]][] = [
  [cmd.create('/memories/a', 'x1'), ['/memories/a:1: x1']],
  [cmd.create('/memories/d/b', 'x2'), ['/memories/a:1: x1', '/memories/d/b:1: x2']],
  [cmd.replace('/memories/a', 'x1', 'x3'), ['/memories/a:1: x3', '/memories/d/b:1: x2']],
  [cmd.insert('/memories/a', 1, 'x4\n'), ['/memories/a:1: x3', '/memories/a:2: x4', '/memories/d/b:1: x2']],
  [
    cmd.rename('/memories/d', '/memories/0'),
    ['/memories/0/b:1: x2', '/memories/a:1: x3', '/memories/a:2: x4'],
  ],
  [
    cmd.rename('/memories/a', '/memories/0/a'),
    ['/memories/0/a:1: x3', '/memories/0/a:2: x4', '/memories/0/b:1: x2'],
  ],
  [cmd.replace('/memories/0/b', 'x2', 'y'), ['/memories/0/a:1: x3', '/memories/0/a:2: x4']],
  [cmd.delete('/memories/0/b'), ['/memories/0/a:1: x3', '/memories/0/a:2: x4']],
  [cmd.delete('/memories/0'), []],
];

describeService('search after a write', (service) => {
  it('finds every write that was acknowledged before the search', async () => {
    const tenant = freshTenant();
    await service().execute(cmd.create('/memories/other', 'y'), { tenant });
    for (const [input, expected] of WRITES) {
      const { is_error, content } = await service().execute(input, { tenant });
      expect([input, is_error, content]).toStrictEqual([input, false, content]);
      expect([input, await lines(service(), tenant)]).toStrictEqual([input, expected]);
      // The second search reads only the tenant's state.
      expect([input, await lines(service(), tenant)]).toStrictEqual([input, expected]);
    }
  });

  it('searches only the given directory or file if the files are cached', async () => {
    const tenant = freshTenant();
    for (const path of ['a', 'a-b', 'a/c', 'a/d/e', 'ab', 'z/\u{ff5e}', 'z/\u{1f600}'])
      if (path !== 'a') await service().execute(cmd.create(`/memories/${path}`, 'x'), { tenant });
    expect(await lines(service(), tenant)).toHaveLength(6);
    expect(await lines(service(), tenant, '/memories/a')).toStrictEqual([
      '/memories/a/c:1: x',
      '/memories/a/d/e:1: x',
    ]);
    expect(await lines(service(), tenant, '/memories/a-b')).toStrictEqual(['/memories/a-b:1: x']);
    // By code point: the emoji is after the full-width tilde, although its UTF-16 units are before it.
    expect(await lines(service(), tenant, '/memories/z')).toStrictEqual([
      '/memories/z/\u{ff5e}:1: x',
      '/memories/z/\u{1f600}:1: x',
    ]);
  });
});

it("finds writes by another replica, and by a new tenant with a deleted tenant's ID", async () => {
  const database = await createTestDatabase();
  const replicas = [
    await startService('postgres', { DATABASE_URL: database.url }),
    await startService('postgres', { DATABASE_URL: database.url }),
  ] as const;
  const [writer, reader] = replicas;
  for (const [input, expected] of WRITES) {
    await writer.execute(input, { tenant: 'shared' });
    expect([input, await lines(reader, 'shared')]).toStrictEqual([input, expected]);
  }
  await writer.execute(cmd.create('/memories/a', 'x1'), { tenant: 'shared' });
  expect(await lines(reader, 'shared')).toStrictEqual(['/memories/a:1: x1']);
  await writer.query("DELETE FROM entries WHERE tenant_id = 'shared'");
  await writer.query("DELETE FROM tenants WHERE id = 'shared'");
  await writer.execute(cmd.create('/memories/a', 'x2'), { tenant: 'shared' });
  expect(await lines(reader, 'shared')).toStrictEqual(['/memories/a:1: x2']);
  for (const replica of replicas) await replica.close();
  await database.drop();
});

it('drops a text from the cache at the next check after another replica erased the text', async () => {
  const database = await createTestDatabase();
  const config = loadConfig({ DATABASE_URL: database.url, AUTH: 'none', LOG_LEVEL: 'silent' });
  const service = await startService('postgres', { DATABASE_URL: database.url });
  const services = new Services(config, service.database, createSecretScanner());
  const texts = () => {
    const files = services.featureService(memorySearch).texts.get('acme')?.files;
    return files?.map(({ content: { buffer } }) => Buffer.from(buffer).toString('latin1'));
  };
  const search = () =>
    searchForOperator(services.featureService(memorySearch), service.database, {
      tenant: { id: 'acme', draftOf: null },
      input: { query: 'x' },
      at: undefined,
    });
  await service.execute(cmd.create('/memories/a', 'a secret x'), { tenant: 'acme' });
  await service.execute(cmd.create('/memories/b', 'other x'), { tenant: 'acme' });
  await search();
  await services.watches.check();
  expect(texts()).toStrictEqual(['a secret xother x', 'a secret xother x']);
  await service.execute(cmd.replace('/memories/a', 'secret', 'erased'), { tenant: 'acme' });
  await services.watches.check();
  expect(texts()).toStrictEqual(['a erased xother x', 'a erased xother x']);
  // The next search reads the erased text itself, before the check.
  await service.execute(cmd.replace('/memories/a', 'erased', 'another'), { tenant: 'acme' });
  await search();
  expect(texts()).toStrictEqual(['a another x', 'a erased xother x']);
  await services.watches.check();
  expect(texts()).toStrictEqual(['a another xother x', 'a another xother x']);
  await service.query("DELETE FROM entries WHERE tenant_id = 'acme'");
  await service.query("DELETE FROM tenants WHERE id = 'acme'");
  await services.watches.check();
  expect(texts()).toBeUndefined();
  await services.close();
  await service.close();
  await database.drop();
});

it.each([
  { method: 'POST', operation: '/suspend' },
  { method: 'POST', operation: '/directories/redact', payload: { path: '/memories/old' } },
  { method: 'DELETE', operation: '' },
] as const)('drops cached files after $method $operation', async ({ method, operation, ...body }) => {
  const database = await createTestDatabase();
  const service = await startService('postgres', { DATABASE_URL: database.url });
  const config = loadConfig({ DATABASE_URL: database.url, AUTH: 'none', LOG_LEVEL: 'silent' });
  const services = new Services(config, service.database, createSecretScanner());
  const admin = await buildAdminApp({ config, database: service.database, services, isLocal: true });
  await service.execute(cmd.create('/memories/a', 'x'), { tenant: 'acme' });
  const { content } = await searchForOperator(services.featureService(memorySearch), service.database, {
    tenant: { id: 'acme', draftOf: null },
    input: { query: 'x' },
    at: undefined,
  });
  expect(content).toBe('Found 1 file in /memories, the best first:\n/memories/a:1: x');
  expect(services.featureService(memorySearch).texts.get('acme')?.files).toHaveLength(1);
  const done = await admin.inject({ method, url: `/v1/tenants/acme${operation}`, ...body });
  expect(done.statusCode).toBeLessThan(500);
  expect(services.featureService(memorySearch).texts.get('acme')).toBeUndefined();
  await admin.close();
  await services.close();
  await service.close();
  await database.drop();
});
