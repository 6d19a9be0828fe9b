/** @module-tag long-on-pglite */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { FAKE_KEY, FakeHostedService, type FakeVersion, type Fault } from '../support/hosted-service.ts';
import { readAll, sdk } from '../support/memory-stores.ts';
import { runOn } from '../support/run-program.ts';
import { describeService } from '../support/test-service.ts';

let hosted: FakeHostedService;
let url = '';
beforeEach(async () => {
  hosted = new FakeHostedService();
  url = await hosted.start();
});
afterEach(() => {
  hosted.stop();
  vi.unstubAllEnvs();
});

const timeAt = (second: number) => `2026-11-20T10:00:${String(second).padStart(2, '0')}Z`;
const AGENT = { type: 'session_actor', session_id: 'sesn_1' };

/** Returns versions for one memory at intervals of a second, the oldest first. A null content is a deletion. */
function createVersions(memory: string, path: string, contents: (string | null)[], from = 0): FakeVersion[] {
  return contents.map((content, i) => ({
    id: `memver_${memory}${i}`,
    memory_id: `mem_${memory}`,
    path,
    content,
    operation: content === null ? 'deleted' : i === 0 ? 'created' : 'modified',
    created_at: timeAt(from + i),
    created_by: AGENT,
  }));
}

const toHead = (version: FakeVersion, createdAt = version.created_at) => ({
  id: version.memory_id,
  memory_version_id: version.id,
  path: version.path ?? '',
  content: version.content ?? '',
  created_at: createdAt,
  updated_at: version.created_at,
});

/** All kinds of failures, one after another, then none. */
const TROUBLE: Fault[] = [
  'drop',
  { status: 429, headers: { 'retry-after': '0' } },
  undefined,
  { status: 500 },
  'cut',
  undefined,
  { status: 529, headers: { 'retry-after': '0' } },
  undefined,
  'drop',
];

describeService('a hosted store that fails sometimes', (service) => {
  const make = async (tenant: string) => {
    await runOn(service(), ['tenants', 'create', tenant]);
    return tenant;
  };
  const run = (...args: string[]) => {
    vi.stubEnv('ANTHROPIC_API_KEY', FAKE_KEY);
    return runOn(service(), [...args, '--store-url', url]);
  };
  const log = async (tenant: string) =>
    (await runOn(service(), ['log', tenant, '--json', '--content'])).stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));

  it('continues an import after rejected requests and broken connections', {
    tags: 'long',
  }, async () => {
    const tenant = await make('import-faults');
    const a = createVersions('a', '/a', ['1', '12', '123']);
    const b = createVersions('b', '/d/b', ['x', null], 3);
    hosted.add('memstore_x', {
      versions: [...b.toReversed(), ...a.toReversed()],
      memories: [toHead(a[2] as FakeVersion, timeAt(0))],
    });
    hosted.fault = (_, number) => TROUBLE[number - 1];
    const done = await run('import', tenant, '--from-store', 'memstore_x');
    expect(done).toStrictEqual({
      code: 0,
      stdout: '',
      stderr: 'Imported 1 file (3 bytes) and 0 directories into import-faults, with 5 versions.\n',
    });
    expect(hosted.requests.length).toBeGreaterThan(TROUBLE.length);
    const actor = { type: 'session', id: 'sesn_1' };
    expect(await log(tenant)).toMatchObject([
      {
        operation: 'deleted',
        path: '/memories/d/b',
        content: null,
        created_at: '2026-11-20T10:00:04.000000Z',
        actor,
      },
      {
        operation: 'created',
        path: '/memories/d/b',
        content: 'x',
        created_at: '2026-11-20T10:00:03.000000Z',
        actor,
      },
      {
        operation: 'modified',
        path: '/memories/a',
        content: '123',
        created_at: '2026-11-20T10:00:02.000000Z',
        actor,
      },
      {
        operation: 'modified',
        path: '/memories/a',
        content: '12',
        created_at: '2026-11-20T10:00:01.000000Z',
        actor,
      },
      {
        operation: 'created',
        path: '/memories/a',
        content: '1',
        created_at: '2026-11-20T10:00:00.000000Z',
        actor,
      },
    ]);
    // Sessions are also actors in the API.
    const { memoryVersions } = sdk(service(), 'any').beta.memoryStores;
    const sessionVersions = async (session_id: string) =>
      readAll(memoryVersions.list(tenant, { session_id }));
    expect((await sessionVersions('sesn_1')).map(({ created_by }) => created_by)).toStrictEqual(
      Array(5).fill(AGENT),
    );
    expect(await sessionVersions('sesn_2')).toStrictEqual([]);
    const past = await runOn(service(), ['ls', tenant, '--at', timeAt(3), '--json']);
    expect(JSON.parse(past.stdout).map(({ path }: { path: string }) => path)).toStrictEqual([
      '/memories/a',
      '/memories/d',
      '/memories/d/b',
    ]);
  });

  it('aborts an import after many failed attempts, and imports nothing', { tags: 'long' }, async () => {
    const tenant = await make('import-gives-up');
    const a = createVersions('a', '/a', ['1', '2', '3']);
    hosted.add('memstore_x', { versions: a.toReversed(), memories: [toHead(a[2] as FakeVersion)] });
    hosted.fault = (_, number) => (number > 2 ? { status: 503, headers: { 'retry-after': '0' } } : undefined);
    const failed = await run('import', tenant, '--from-store', 'memstore_x');
    expect(failed.code).toBe(1);
    expect(failed.stderr).toContain('503, Out of order.\nNothing was imported. Run the command again.\n');
    expect(hosted.requests.length).toBe(10);
    hosted.fault = () => undefined;
    expect((await run('import', tenant, '--from-store', 'memstore_x')).stderr).toContain('with 3 versions.');
    expect((await log(tenant)).length).toBe(3);
  });

  it('imports the memories that are allowed and names the others', async () => {
    const tenant = await make('import-odd');
    const [first, second, third] = createVersions('a', '/a', ['1', '2', '3']) as [
      FakeVersion,
      FakeVersion,
      FakeVersion,
    ];
    const redacted = {
      redacted_at: timeAt(9),
      redacted_by: { type: 'user_actor', user_id: 'user_1' },
      path: null,
      content: null,
    };
    const old = {
      ...createVersions('old', '/old', ['long ago'])[0],
      created_at: '2026-01-01T00:00:00Z',
    } as FakeVersion;
    hosted.add('memstore_x', {
      // Two versions with one time in the store's order, a path that is invalid in this service, and an author of an
      // unknown kind.
      versions: [
        third,
        { ...second, created_at: third.created_at },
        { ...second, id: 'memver_slash', path: '/a\\b', created_at: timeAt(1) },
        {
          ...first,
          id: 'memver_gone',
          ...redacted,
          created_by: { type: 'new_actor' },
          created_at: timeAt(0),
        },
      ],
      // A memory whose versions were all pruned, and a memory created after the first page was read.
      memories: [
        toHead(third),
        toHead(old),
        toHead({ ...old, memory_id: 'mem_late', path: '/late', created_at: timeAt(59) }),
      ],
    });
    const done = await run('import', tenant, '--from-store', 'memstore_x');
    expect(done.stderr).toBe(
      'Imported 2 files (9 bytes) and 0 directories into import-odd, with 4 versions.\nLeft out: 1 version with a path or a content that cannot be kept here.\n',
    );
    expect(await log(tenant)).toMatchObject([
      { content: '3', created_at: '2026-11-20T10:00:02.000000Z' },
      { content: '2', created_at: '2026-11-20T10:00:01.999999Z' },
      {
        content: null,
        path: null,
        actor: { type: 'anonymous' },
        redacted_by: { type: 'operator', name: 'user_1' },
        redacted_at: '2026-11-20T10:00:09.000000Z',
      },
      {
        content: 'long ago',
        path: '/memories/old',
        operation: 'created',
        created_at: '2026-01-01T00:00:00.000000Z',
      },
    ]);
    const live = createVersions('c', '/c\\d', ['x']);
    hosted.add('memstore_y', { versions: live, memories: live.map((each) => toHead(each)) });
    const rejected = await run('import', await make('import-rejected'), '--from-store', 'memstore_y');
    expect(rejected.stderr).toContain('Cannot import memories/c\\d:');
    expect(rejected.stderr).toContain('Nothing was imported.');
  });

  it('imports an unknown operation as a change, and reports a current version that has no content', async () => {
    const tenant = await make('import-unknown');
    const [first, second] = createVersions('a', '/a', ['1', '2']) as [FakeVersion, FakeVersion];
    const record = { id: 'memstore_x', name: 'x', created_at: '2026-11-01T00:00:00Z' };
    const versions = [{ ...second, operation: 'restored' }, first];
    hosted.add('memstore_x', { versions, memories: [toHead(second)], record });
    const done = await run('import', tenant, '--from-store', 'memstore_x');
    expect(done.stderr).toBe(
      'Imported 1 file (1 byte) and 0 directories into import-unknown, with 2 versions.\n',
    );
    expect(await log(tenant)).toMatchObject([
      { operation: 'modified', content: '2' },
      { operation: 'created', content: '1' },
    ]);

    hosted.add('memstore_y', { versions: [{ ...first, content: null }] });
    const rejected = await run('import', await make('import-empty'), '--from-store', 'memstore_y');
    expect(rejected).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(
        'The store sent a memory version that cannot be read: memver_a0 of mem_a (content: is missing in a current version).\nNothing was imported.',
      ),
    });
  });

  it('continues a push after rejected requests and lost responses, and creates only one store', {
    tags: 'long',
  }, async () => {
    const tenant = await make('push-faults');
    for (const name of ['a', 'b', 'c']) {
      await service().execute({ command: 'create', path: `/memories/${name}`, file_text: name }, { tenant });
    }
    const lost = new Set<string>();
    hosted.fault = (request, number) => {
      if (number === 1) return { status: 429, headers: { 'retry-after': '0' } };
      // The response to the first attempt is lost for each kind of write.
      if (!request.startsWith('POST') || lost.has(request)) return undefined;
      lost.add(request);
      return 'lose';
    };
    const first = await run('push', tenant, '--create-store', 'New');
    expect(first.stderr).toBe(
      'Created the store memstore_fake1.\nMemories: 3 created, 0 updated, 0 unchanged.\n',
    );
    expect([...hosted.stores.keys()]).toStrictEqual(['memstore_fake1']);
    const { memories = [] } = hosted.stores.get('memstore_fake1') ?? {};
    expect(memories.map(({ path, content }) => [path, content])).toStrictEqual([
      ['/a', 'a'],
      ['/b', 'b'],
      ['/c', 'c'],
    ]);

    const edit = { command: 'str_replace', path: '/memories/b', old_str: 'b', new_str: 'B' };
    await service().execute(edit, { tenant });
    hosted.fault = (request) =>
      request.startsWith('POST') ? { status: 500, headers: { 'retry-after': '0' } } : undefined;
    const failed = await run('push', tenant, '--create-store', 'New');
    expect([failed.code, failed.stderr]).toStrictEqual([
      1,
      expect.stringContaining('The push is not complete. Run the command again to go on.'),
    ]);
    hosted.fault = (request, number) => (request.startsWith('POST') && number % 2 === 0 ? 'lose' : undefined);
    const second = await run('push', tenant, '--to-store', 'memstore_fake1');
    expect(second.stderr).toBe('Memories: 0 created, 1 updated, 2 unchanged.\n');
    expect(memories.map(({ content }) => content)).toStrictEqual(['a', 'B', 'c']);
  });

  it('skips a pushed memory if it changes in the store between the read and the write', async () => {
    const tenant = await make('push-race');
    await service().execute({ command: 'create', path: '/memories/a', file_text: 'old' }, { tenant });
    const { memories } = hosted.add('memstore_x', {});
    expect((await run('push', tenant, '--to-store', 'memstore_x')).code).toBe(0);
    const edit = { command: 'str_replace', path: '/memories/a', old_str: 'old', new_str: 'new' };
    await service().execute(edit, { tenant });
    hosted.fault = (request) => {
      if (request.startsWith('POST') && memories[0]) memories[0].content = 'theirs';
      return undefined;
    };
    const rejected = await run('push', tenant, '--to-store', 'memstore_x');
    expect([rejected.code, rejected.stderr]).toStrictEqual([
      1,
      expect.stringContaining('were left unchanged. To replace changed ones, add --overwrite:\n  /a\n'),
    ]);
    expect(memories[0]?.content).toBe('theirs');
  });
});
