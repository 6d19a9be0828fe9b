/**
 * The oldest and the newest versions of each agent SDK that an adapter supports: the snippet in the README compiles,
 * and the model reads the documented texts.
 */
import { copyFile, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { MemoryClient } from 'memory-service-client';
import { beforeAll, describe, expect, it } from 'vitest';
import { failure, result, text, use, useAgentFixture } from '../client/agent-fixture.ts';
import { compile, install, pack, run } from '../client/packed-client.ts';
import { resultsSent } from '../support/messages-api.ts';
import { freshTenant } from '../support/test-service.ts';

const fixture = useAgentFixture();

const ANSWER = 'I will remember that you live in Lyon.';
const CREATE = { command: 'create', path: '/memories/user.md', file_text: 'Lives in Lyon.' };
/** Snippets in the order in which the client's README has them. */
const [ANTHROPIC, AI_SDK, LANGCHAIN] = [0, 1, 2];

let archive = '';
let readme = '';
let snippets: string[] = [];
beforeAll(async () => {
  archive = (await pack('memory-service-client')).archive;
  readme = await readFile(new URL('../../clients/typescript/README.md', import.meta.url), 'utf8');
  snippets = [...readme.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code = '']) => code);
});

const VERSIONS: [snippet: number, packages: string[]][] = [
  [ANTHROPIC, ['@anthropic-ai/sdk@0.100.0']],
  [ANTHROPIC, ['@anthropic-ai/sdk@1.13.0']],
  [ANTHROPIC, ['@anthropic-ai/sdk@1.14.0']],
  [AI_SDK, ['ai@6.0.0', '@ai-sdk/anthropic@3.0.0']],
  [AI_SDK, ['ai@7.0.173', '@ai-sdk/anthropic@4.0.105']],
  [LANGCHAIN, ['@langchain/core@1.1.5', '@langchain/anthropic@1.3.0']],
  [LANGCHAIN, ['@langchain/core@1.4.0', '@langchain/anthropic@1.5.11']],
];

/** Error that the model reads when the service rejects the key. Undefined if the SDK's tool throws. */
const REJECTED: Record<number, RegExp | undefined> = {
  [ANTHROPIC]: /^Error: The memory service responded with 401 unauthorized: .* \(request [0-9a-f-]{36}\)$/,
  [AI_SDK]: /^The memory service responded with 401 unauthorized: .* \(request [0-9a-f-]{36}\)$/,
};

describe.each(VERSIONS)('snippet %i with %j', (snippet, packages) => {
  let directory = '';
  beforeAll(async () => {
    ({ directory } = await install([archive, '@types/node@22.20.5', ...packages], 'prefer-offline'));
    const options = {
      module: 'nodenext',
      moduleResolution: 'nodenext',
      types: ['node'],
      skipLibCheck: true,
    };
    // `npm init` creates such a project.
    await run('npm', ['pkg', 'set', 'type=commonjs'], { cwd: directory });
    await compile(directory, { 'agent.mts': snippets[snippet] ?? '' }, options);
  }, 480_000);

  async function runAgent(apiUrl: string, variables: Record<string, string>): Promise<string> {
    const env = {
      PATH: process.env.PATH,
      MEMORY_SERVICE_URL: fixture.url,
      MEMORY_SERVICE_API_KEY: fixture.serviceKey,
      ANTHROPIC_BASE_URL: snippet === AI_SDK ? `${apiUrl}/v1` : apiUrl,
      ANTHROPIC_API_KEY: 'test',
      ...variables,
    };
    return (await run(process.execPath, ['out/agent.mjs'], { cwd: directory, env })).stdout;
  }

  it("returns the service's result texts to the model unchanged", async () => {
    const tenant = freshTenant();
    const missing = '/memories/missing.md';
    const api = await fixture.messagesApi([
      [
        use('toolu_1', CREATE),
        use('toolu_2', { command: 'view', path: missing }),
        use('toolu_3', CREATE),
        use('toolu_4', { command: 'delete', path: missing }),
        use('toolu_5', { command: 'view', path: '/memories/user.md', view_range: [1, 1] }),
      ],
      [text(ANSWER)],
    ]);
    expect(await runAgent(api.url, { MEMORY_SERVICE_TENANT: tenant })).toBe(`${ANSWER}\n`);
    // LangChain sends no `is_error`.
    const failed = snippet === LANGCHAIN ? result : failure;
    expect(resultsSent(api)[1]).toStrictEqual([
      result('toolu_1', 'File created successfully at: /memories/user.md'),
      failed('toolu_2', 'The path /memories/missing.md does not exist. Please provide a valid path.'),
      failed('toolu_3', 'Error: File /memories/user.md already exists'),
      failed('toolu_4', 'Error: The path /memories/missing.md does not exist'),
      result('toolu_5', "Here's the content of /memories/user.md with line numbers:\n     1\tLives in Lyon."),
    ]);
    const memory = new MemoryClient({ url: fixture.url, apiKey: fixture.serviceKey, tenant });
    const { content } = await memory.execute({ command: 'view', path: '/memories/user.md' });
    expect(content).toBe(
      "Here's the content of /memories/user.md with line numbers:\n     1\tLives in Lyon.",
    );
  });

  // The AI SDK's schema rejects this input.
  it.skipIf(snippet === AI_SDK)('deletes `old_str` if the input has no `new_str`', async () => {
    const api = await fixture.messagesApi([
      [
        use('toolu_1', CREATE),
        use('toolu_2', { command: 'str_replace', path: '/memories/user.md', old_str: ' in Lyon' }),
      ],
      [text(ANSWER)],
    ]);
    expect(await runAgent(api.url, { MEMORY_SERVICE_TENANT: freshTenant() })).toBe(`${ANSWER}\n`);
    expect(resultsSent(api)[1]).toStrictEqual([
      result('toolu_1', 'File created successfully at: /memories/user.md'),
      result(
        'toolu_2',
        'The memory file has been edited. Here is the snippet showing the change (with line numbers):\n     1\tLives.',
      ),
    ]);
  });

  it('explains that the service returned no result', async () => {
    const api = await fixture.messagesApi([[use('toolu_1', CREATE)], [text(ANSWER)]]);
    const agent = runAgent(api.url, { MEMORY_SERVICE_API_KEY: 'msk_wrong', MEMORY_SERVICE_TENANT: 'a' });
    const rejected = REJECTED[snippet];
    if (rejected === undefined) {
      await expect(agent).rejects.toThrow(
        'MemoryServiceError: The memory service responded with 401 unauthorized: ',
      );
    } else {
      expect(await agent).toBe(`${ANSWER}\n`);
      expect(resultsSent(api)[1]).toStrictEqual([failure('toolu_1', expect.stringMatching(rejected))]);
    }
  });
});

const LANGCHAIN_AGENT = ['langchain@1.5.14', '@langchain/core@1.4.0', '@langchain/anthropic@1.5.11'];

it('runs the memory tool with a LangChain agent', async () => {
  const { directory } = await install([archive, ...LANGCHAIN_AGENT], 'prefer-offline');
  await copyFile(new URL('./langchain-agent.mjs', import.meta.url), join(directory, 'agent.mjs'));
  const api = await fixture.messagesApi([
    [use('toolu_1', CREATE), use('toolu_2', { command: 'view', path: '/memories/user.md' })],
    [use('toolu_3', CREATE)],
    [text(ANSWER)],
  ]);
  const env = {
    PATH: process.env.PATH,
    MEMORY_SERVICE_URL: fixture.url,
    MEMORY_SERVICE_API_KEY: await fixture.tenantKey(),
    ANTHROPIC_BASE_URL: api.url,
    ANTHROPIC_API_KEY: 'test',
  };
  const { stdout } = await run(process.execPath, ['agent.mjs'], { cwd: directory, env });
  expect(stdout).toBe(`${ANSWER}\n`);
  expect(resultsSent(api).slice(1)).toStrictEqual([
    [
      result('toolu_1', 'File created successfully at: /memories/user.md'),
      result('toolu_2', "Here's the content of /memories/user.md with line numbers:\n     1\tLives in Lyon."),
    ],
    [result('toolu_3', 'Error: File /memories/user.md already exists')],
  ]);
});

it('lists the packages to install for each snippet in the README', () => {
  const commands = [...readme.matchAll(/^npm install ([a-z@].*)$/gm)]
    .map(([, names = '']) => names.split(' '))
    .filter((names) => names.length > 1 || names[0] !== 'memory-service-client');
  for (const [snippet, packages] of VERSIONS) {
    const names = packages.map((name) => name.slice(0, name.lastIndexOf('@')));
    expect(names).toStrictEqual(commands[snippet]);
  }
});

it("lists the SDKs' tested versions in the guide", async () => {
  const guide = await readFile(new URL('../../docs/agents.md', import.meta.url), 'utf8');
  const table = guide.slice(guide.indexOf('## SDK versions'), guide.indexOf('## From'));
  const packages = [...VERSIONS.flatMap(([, packages]) => packages), ...LANGCHAIN_AGENT];
  const versions = packages.map((name) => name.slice(name.lastIndexOf('@') + 1));
  expect(versions.filter((version) => !table.includes(` ${version}`))).toStrictEqual([]);
});
