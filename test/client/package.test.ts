/**
 * The packed client in a separate project, with every TypeScript snippet in the documents.
 *
 * @module-tag long
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { MemoryClient } from 'memory-service-client';
import { beforeAll, describe, expect, it } from 'vitest';
import { Keys } from '../../src/core/tenants/keys.ts';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { startStandIn } from '../support/start-stand-in.ts';
import { freshTenant } from '../support/test-service.ts';
import { text, use, useAgentFixture } from './agent-fixture.ts';
import { compile, install, type Packed, pack, run, withSdks } from './packed-client.ts';

const fixture = useAgentFixture({ SHARING: 'on' });
let packed: Packed;
let project: Awaited<ReturnType<typeof install>>;
beforeAll(async () => {
  packed = await pack('memory-service-client');
  project = await install([packed.archive], 'offline');
});

describe('the installed client package', () => {
  const USE = `
    import { type Logger, MemoryClient, MemoryServiceError, runMemoryTools } from 'memory-service-client';
    import { memoryExecute } from 'memory-service-client/ai-sdk';

    const fetch = async () => new Response('{"content":"text","is_error":false}');
    const logger: Logger = console;
    const memory = new MemoryClient({ url: 'http://memory.test', fetch, logger });
    const block = { type: 'tool_use', id: 'toolu_1', name: 'memory', input: {} };
    const results = [
      await memory.execute({ command: 'view', path: '/memories' }),
      await runMemoryTools(memory, { content: [block] }),
      await memoryExecute(memory)({ command: 'view', path: '/memories' }, { toolCallId: 'toolu_2' }),
      MemoryServiceError.name,
    ];
    console.log(JSON.stringify(results));
    // @ts-expect-error The path is missing.
    export const rejected = () => memory.execute({ command: 'view' });
  `;

  it('installs a small package with a license and a README', () => {
    expect(project.packages).toStrictEqual([join(project.directory, 'node_modules/memory-service-client')]);
    expect(packed.files).toEqual(
      expect.arrayContaining(['LICENSE', 'README.md', 'package.json', 'dist/index.js', 'dist/index.d.ts']),
    );
    expect(
      packed.files.filter((name) => !/^(dist\/.*\.(d\.ts|js)|[A-Z]+(\.md)?|package\.json)$/.test(name)),
    ).toEqual([]);
    expect(packed.unpackedSize).toBeLessThan(164 * 1024);
  });

  it.each([
    { module: 'nodenext', moduleResolution: 'nodenext' },
    { module: 'node16', moduleResolution: 'node16' },
    { module: 'preserve', moduleResolution: 'bundler' },
  ])('compiles with %o and runs a program that uses the installed client', async (options) => {
    await compile(project.directory, { 'use.ts': USE }, options);
    const { stdout, stderr } = await run(process.execPath, ['out/use.js'], { cwd: project.directory });
    expect(JSON.parse(stdout)).toStrictEqual([
      { content: 'text', is_error: false },
      [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'text', is_error: false }],
      'text',
      'MemoryServiceError',
    ]);
    expect(stderr).toBe('');
  });
});

describe('the unchanged snippets in the documents', { tags: 'long' }, () => {
  const ANSWER = 'I will remember that you live in Lyon.';
  const HOME = 'You live in Lyon.';
  const LISTING =
    "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:\n4.0K\t/memories";
  /** Each snippet's output in a document, in order, and the number of requests that an agent sends to its model. */
  const DOCUMENTS: Record<string, [prints: string, requests: number][]> = {
    'README.md': [[`${ANSWER}\n`, 2]],
    'clients/typescript/README.md': [
      [`${ANSWER}\n`, 2],
      [`${ANSWER}\n`, 2],
      [`${ANSWER}\n`, 2],
      [`${ANSWER}\n`, 2],
      [`${LISTING} false\n`, 0],
      [`${ANSWER}\n`, 2],
      ['created /memories/tea.md Green\ndeleted /memories/tea.md null\n', 0],
      ['/memories/team\n', 0],
      ['service_key: read_write\n', 0],
    ],
    'docs/agents.md': [
      ['', 2],
      // The text for the system prompt is empty, because the tenant has no mounts.
      ['\n', 0],
      ['service_key: read_write\n', 0],
      ['', 0],
      ['', 0],
    ],
    'docs/context.md': [
      [`${ANSWER}\n${HOME}\n`, 3],
      [`${ANSWER}\n${HOME}\n`, 3],
      [`${ANSWER}\n${HOME}\n`, 3],
    ],
  };
  const REPLIES = [
    [use('toolu_1', { command: 'create', path: '/memories/user.md', file_text: 'Lives in Lyon.' })],
    [text(ANSWER)],
    [text(HOME)],
  ];
  let directory = '';
  const snippets: Record<string, string> = {};

  const programName = (document: string, i: number) => `${document.replaceAll(/[/.]/g, '-')}-${i + 1}`;

  beforeAll(async () => {
    directory = await withSdks(project.directory);
    for (const document of Object.keys(DOCUMENTS)) {
      const markdown = await readFile(new URL(`../../${document}`, import.meta.url), 'utf8');
      for (const [i, [, code = '']] of [...markdown.matchAll(/^```ts\n(.*?)^```$/gms)].entries()) {
        snippets[`${programName(document, i)}.ts`] = code;
      }
    }
    const options = { module: 'nodenext', moduleResolution: 'nodenext', types: ['node'], skipLibCheck: true };
    await compile(directory, snippets, options);
  });

  it('lists the expected output for every TypeScript snippet in the documents', () => {
    const known = Object.entries(DOCUMENTS).flatMap(([document, each]) =>
      each.map((_, i) => `${programName(document, i)}.ts`),
    );
    expect(Object.keys(snippets)).toStrictEqual(known);
  });

  const cases = Object.entries(DOCUMENTS).flatMap(([document, each]) =>
    each.map(([prints, requests], i) => ({ name: programName(document, i), prints, requests })),
  );
  async function sharingKey(): Promise<string> {
    const [tenant, database] = [freshTenant(), fixture.database()];
    await new Tenants(database).create(tenant);
    const purpose = { tenant, access: 'read_write', label: '', expiresAt: null, canShare: true } as const;
    return (await new Keys(database).issue(purpose)).key;
  }

  async function runSnippet(name: string, tenant: string) {
    const api = await fixture.messagesApi(REPLIES);
    const env = {
      PATH: process.env.PATH,
      MEMORY_SERVICE_URL: fixture.url,
      MEMORY_SERVICE_API_KEY: fixture.serviceKey,
      MEMORY_SERVICE_TENANT: tenant,
      TEAM_KEY: await sharingKey(),
      BUILDER_KEY: await sharingKey(),
      ANTHROPIC_BASE_URL: api.url,
      ANTHROPIC_API_KEY: 'test',
    };
    const ran = await run(process.execPath, [`out/${name}.js`], { cwd: directory, env });
    return { ran, requests: api.requests };
  }

  it.concurrent.each(cases)('runs the unchanged snippet $name', async ({ name, prints, requests: count }) => {
    const tenant = freshTenant();
    const { ran, requests } = await runSnippet(name, tenant);
    expect(ran).toStrictEqual({ stdout: prints, stderr: '' });
    expect(requests).toHaveLength(count);
    const memory = new MemoryClient({ url: fixture.url, apiKey: fixture.serviceKey, tenant });
    const { content } = await memory.execute({ command: 'view', path: '/memories/user.md' });
    expect(content.endsWith('\tLives in Lyon.')).toBe(count > 0);
  });

  const CACHED = { type: 'ephemeral' };
  const SNAPSHOT =
    "<memory_snapshot>\nHere's the content of /memories/pinned/style.md with line numbers:\n     1\tBe brief.\n</memory_snapshot>";
  const CHANGES =
    /^<memory_changes>\nThese files are new or changed:\n14B\t\/memories\/user\.md\t\d{4}-\d\d-\d\d\n<\/memory_changes>$/;
  it.concurrent.each(cases.filter(({ name }) => name.startsWith('docs-context')))(
    'caches the guidance and the snapshot in $name, and appends only the changes',
    async ({ name }) => {
      const tenant = freshTenant();
      const memory = new MemoryClient({ url: fixture.url, apiKey: fixture.serviceKey, tenant });
      await memory.execute({ command: 'create', path: '/memories/pinned/style.md', file_text: 'Be brief.' });
      const { requests } = await runSnippet(name, tenant);
      const [first, , last] = requests.map(({ body }) => body);
      const protocol = expect.stringMatching(/^MEMORY PROTOCOL:\n/);
      expect(last?.system).toStrictEqual([{ type: 'text', text: protocol, cache_control: CACHED }]);
      expect(last?.system).toStrictEqual(first?.system);
      const blocks = (last?.messages ?? []).flatMap(({ content }) =>
        typeof content === 'string' ? [text(content)] : content,
      );
      expect(blocks.filter(({ type }) => type === 'text')).toStrictEqual([
        { type: 'text', text: SNAPSHOT, cache_control: CACHED },
        { type: 'text', text: 'I live in Lyon. Please remember that.' },
        { type: 'text', text: ANSWER },
        { type: 'text', text: expect.stringMatching(CHANGES) },
        { type: 'text', text: 'Where do I live?' },
      ]);
    },
  );

  it("runs the agent in the README to the end against the tutorial's stand-in API", async ({ signal }) => {
    const tenant = freshTenant();
    const standIn = await startStandIn();
    try {
      const env = {
        PATH: process.env.PATH,
        MEMORY_SERVICE_URL: fixture.url,
        MEMORY_SERVICE_API_KEY: fixture.serviceKey,
        MEMORY_SERVICE_TENANT: tenant,
        ANTHROPIC_BASE_URL: standIn.url,
        ANTHROPIC_API_KEY: 'none',
      };
      const agent = `out/${programName('README.md', 0)}.js`;
      const ran = await run(process.execPath, [agent], { cwd: directory, env, signal });
      expect(ran).toStrictEqual({ stdout: 'Done: I live in Lyon. Please remember that.\n', stderr: '' });
    } finally {
      await standIn.stop();
    }
    const memory = new MemoryClient({ url: fixture.url, apiKey: fixture.serviceKey, tenant });
    const { content } = await memory.execute({ command: 'view', path: '/memories/user.md' });
    expect(content).toMatch(/numbers:\n {5}1\t- I live in Lyon\. Please remember that\.\n {5}2\t$/);
  });
});
