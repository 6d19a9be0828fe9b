/** Imports and pushes that run again after their process was killed. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { FAKE_KEY, FakeHostedService, type FakeVersion } from '../support/hosted-service.ts';
import { assertInvariants } from '../support/invariants.ts';
import { type CliProcess, startCli } from '../support/process.ts';
import { createTestDatabase, lockWait } from '../support/test-database.ts';
import { freshTenant, type Service, startService } from '../support/test-service.ts';

const VERSIONS = 200;

describe('a killed command', { tags: 'long' }, () => {
  let own: Awaited<ReturnType<typeof createTestDatabase>>;
  let service: Service;
  let hosted: FakeHostedService;
  let url = '';
  let tenant = '';
  beforeAll(async () => {
    own = await createTestDatabase();
    service = await startService('postgres', {
      DATABASE_URL: own.url,
      DB_IDLE_IN_TRANSACTION_TIMEOUT_MS: '0',
    });
  });
  afterAll(async () => {
    await service.close();
    await own.drop();
  });
  beforeEach(async () => {
    hosted = new FakeHostedService();
    hosted.pageSize = 20;
    url = await hosted.start();
    tenant = freshTenant();
    expect(await startMemoryService('tenants', 'create', tenant).exit).toBe(0);
  });
  afterEach(() => hosted.stop());

  const startMemoryService = (...args: string[]) =>
    startCli(args, {
      DATABASE_URL: own.url,
      ANTHROPIC_API_KEY: FAKE_KEY,
      ANTHROPIC_BASE_URL: url,
      DB_LOCK_TIMEOUT_MS: '60000',
    });
  const rows = async () =>
    (
      await service.query(`SELECT
      (SELECT count(*)::integer FROM entries WHERE tenant_id = '${tenant}' AND kind = 'file') AS files,
      (SELECT count(*)::integer FROM versions WHERE tenant_id = '${tenant}') AS versions`)
    )[0];

  function fill(): void {
    const versions = Array.from(
      { length: VERSIONS },
      (_, i): FakeVersion => ({
        id: `memver_${i}`,
        memory_id: `mem_${i % 50}`,
        path: `/d/${i % 50}`,
        content: `version ${i}`,
        operation: i < 50 ? 'created' : 'modified',
        created_at: new Date(Date.UTC(2026, 10, 20) + i * 1000).toISOString(),
      }),
    );
    const memories = versions.slice(-50).map((each) => ({
      id: each.memory_id,
      memory_version_id: each.id,
      path: each.path ?? '',
      content: each.content ?? '',
      created_at: each.created_at,
      updated_at: each.created_at,
    }));
    hosted.add('memstore_x', { versions: versions.reverse(), memories });
  }

  it('imports everything on the next run if an import was killed while reading or writing', async () => {
    fill();
    let reading: CliProcess | undefined;
    hosted.fault = (_, number) => {
      if (number === 8) reading?.child.kill('SIGKILL');
      return undefined;
    };
    reading = startMemoryService('import', tenant, '--from-store', 'memstore_x');
    expect(await reading.exit).toBeNull();
    expect(hosted.requests.length).toBe(8);
    expect(await rows()).toStrictEqual({ files: 0, versions: 0 });

    // The import has written its files and waits for this lock before it writes their versions.
    await service.database.transaction(async (query) => {
      await query({ name: 'hold', sql: 'LOCK TABLE versions IN SHARE MODE', parameters: [] }, {});
      const writing = startMemoryService('import', tenant, '--from-store', 'memstore_x');
      await lockWait(own.url);
      writing.child.kill('SIGKILL');
      expect(await writing.exit).toBeNull();
    });
    const again = startMemoryService('import', tenant, '--from-store', 'memstore_x');
    expect([await again.exit, again.output()]).toStrictEqual([
      0,
      expect.stringContaining(
        `Imported 50 files (550 bytes) and 1 directory into ${tenant}, with 200 versions.`,
      ),
    ]);
    expect(await rows()).toStrictEqual({ files: 50, versions: 150 });
    await assertInvariants(service);
  });

  it('pushes the rest on the next run if a push was killed after some memories were created', async () => {
    for (let i = 0; i < 20; i++) {
      await service.execute(
        { command: 'create', path: `/memories/${i}`, file_text: `file ${i}` },
        { tenant },
      );
    }
    let killed: CliProcess | undefined;
    let writes = 0;
    hosted.fault = (request) => {
      if (!request.startsWith('POST') || ++writes !== 8) return undefined;
      killed?.child.kill('SIGKILL');
      return 'lose';
    };
    killed = startMemoryService('push', tenant, '--create-store', 'New');
    expect(await killed.exit).toBeNull();
    const again = startMemoryService('push', tenant, '--create-store', 'New');
    expect([await again.exit, again.output()]).toStrictEqual([
      0,
      expect.stringContaining(
        'Continuing with memstore_fake1, which an earlier push created.\nMemories: 13 created, 0 updated, 7 unchanged.',
      ),
    ]);
    expect([...hosted.stores.keys()]).toStrictEqual(['memstore_fake1']);
    const memories = hosted.stores.get('memstore_fake1')?.memories ?? [];
    expect(memories.map(({ path, content }) => `${path} ${content}`).sort()).toStrictEqual(
      Array.from({ length: 20 }, (_, i) => `/${i} file ${i}`).sort(),
    );
  });
});
