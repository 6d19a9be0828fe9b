/** The oldest and the newest version of each agent SDK that an adapter supports: the README's snippet compiles and runs with them. */
import { readFile } from 'node:fs/promises';
import { MemoryClient } from 'memory-service-client';
import { beforeAll, expect, it } from 'vitest';
import { text, use, useAgentFixture } from '../client/agent-fixture.ts';
import { compile, install, pack, run } from '../client/packed-client.ts';
import { freshTenant } from '../support/service.ts';

const fixture = useAgentFixture();

const ANSWER = 'I will remember that you live in Lyon.';
const REPLIES = [
  [use('toolu_1', { command: 'create', path: '/memories/user.md', file_text: 'Lives in Lyon.' })],
  [text(ANSWER)],
];
/** The snippets of the client's README, in its order. */
const [ANTHROPIC, AI_SDK, LANGCHAIN] = [0, 1, 2];

let archive = '';
let snippets: string[] = [];
beforeAll(async () => {
  archive = (await pack('memory-service-client')).archive;
  const readme = await readFile(new URL('../../clients/typescript/README.md', import.meta.url), 'utf8');
  snippets = [...readme.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code = '']) => code);
});

const VERSIONS: [snippet: number, packages: string[]][] = [
  [ANTHROPIC, ['@anthropic-ai/sdk@0.100.0']],
  [ANTHROPIC, ['@anthropic-ai/sdk@1.12.0']],
  [AI_SDK, ['ai@6.0.0', '@ai-sdk/anthropic@3.0.0']],
  [AI_SDK, ['ai@7.0.173', '@ai-sdk/anthropic@4.0.105']],
  [LANGCHAIN, ['@langchain/core@1.1.5', '@langchain/anthropic@1.3.0']],
  [LANGCHAIN, ['@langchain/core@1.4.0', '@langchain/anthropic@1.5.11']],
];

it.each(VERSIONS)('snippet %i with %j', async (snippet, packages) => {
  const { folder } = await install([archive, '@types/node@22.20.5', ...packages], 'prefer-offline');
  const options = { module: 'nodenext', moduleResolution: 'nodenext', types: ['node'], skipLibCheck: true };
  await compile(folder, { 'agent.ts': snippets[snippet] ?? '' }, options);

  const tenant = freshTenant();
  const api = await fixture.messagesApi(REPLIES);
  const env = {
    PATH: process.env.PATH,
    MEMORY_SERVICE_URL: fixture.url,
    MEMORY_SERVICE_API_KEY: fixture.serviceKey,
    MEMORY_SERVICE_TENANT: tenant,
    ANTHROPIC_BASE_URL: snippet === AI_SDK ? `${api.url}/v1` : api.url,
    ANTHROPIC_API_KEY: 'test',
  };
  const { stdout } = await run(process.execPath, ['out/agent.js'], { cwd: folder, env });
  expect(stdout).toBe(`${ANSWER}\n`);
  const memory = new MemoryClient({ url: fixture.url, apiKey: fixture.serviceKey, tenant });
  const { content } = await memory.execute({ command: 'view', path: '/memories/user.md' });
  expect(content).toBe("Here's the content of /memories/user.md with line numbers:\n     1\tLives in Lyon.");
});

it('the guide names these versions', async () => {
  const guide = await readFile(new URL('../../docs/agents.md', import.meta.url), 'utf8');
  const table = guide.slice(guide.indexOf('## SDK versions'), guide.indexOf('## Java'));
  const versions = VERSIONS.flatMap(([, packages]) =>
    packages.map((name) => name.slice(name.lastIndexOf('@') + 1)),
  );
  expect(versions.filter((version) => !table.includes(` ${version}`))).toStrictEqual([]);
});
