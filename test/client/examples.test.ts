/**
 * Each example as a user runs it, in a process of its own, against the stand-in for the Messages API.
 *
 * @module-tag long
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { MemoryClient } from 'memory-service-client';
import { expect, it } from 'vitest';
import { text, use, useAgentFixture } from './agent-fixture.ts';

const fixture = useAgentFixture();

const REPLIES = [
  [text('Let me check my memory.'), use('toolu_1', { command: 'view', path: '/memories' })],
  [use('toolu_2', { command: 'create', path: '/memories/user.md', file_text: 'Lives in Lyon.' })],
  [text('I will remember that you live in Lyon.')],
];

const RUN = `Let me check my memory.
> {"command":"view","path":"/memories"}
> {"command":"create","path":"/memories/user.md","file_text":"Lives in Lyon."}
I will remember that you live in Lyon.
`;

it.concurrent.each([
  ['anthropic.ts', RUN],
  ['messages.ts', RUN],
  ['langchain.ts', RUN],
  // `generateText` gives the last step's text alone.
  ['ai-sdk.ts', RUN.replace('Let me check my memory.\n', '')],
])('examples/%s', async (name, output) => {
  const [api, key] = await Promise.all([fixture.messagesApi(REPLIES), fixture.tenantKey()]);
  const run = promisify(execFile)(
    process.execPath,
    ['--import', 'tsx', `examples/${name}`, 'I live in Lyon.'],
    {
      cwd: new URL('../..', import.meta.url),
      env: {
        PATH: process.env.PATH,
        MEMORY_SERVICE_URL: fixture.url,
        MEMORY_SERVICE_API_KEY: key,
        ANTHROPIC_BASE_URL: api.url,
        ANTHROPIC_API_KEY: 'test',
      },
    },
  );
  expect(await run).toStrictEqual({ stdout: output, stderr: '' });
  expect(api.requests[0]?.body.messages.map(({ role }) => role)).toStrictEqual(['user']);

  const memory = new MemoryClient({ url: fixture.url, apiKey: key });
  expect(await memory.execute({ command: 'view', path: '/memories/user.md' })).toStrictEqual({
    content: "Here's the content of /memories/user.md with line numbers:\n     1\tLives in Lyon.",
    is_error: false,
  });
});
