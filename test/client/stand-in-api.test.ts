/**
 * The tutorial's stand-in for the Messages API (examples/stand-in-api.ts), in a separate process.
 *
 * @module-tag long
 */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import Anthropic from '@anthropic-ai/sdk';
import { memoryTool } from 'memory-service-client/anthropic';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startStandIn } from '../support/start-stand-in.ts';
import { useAgentFixture } from './agent-fixture.ts';

const fixture = useAgentFixture();
let standIn: Awaited<ReturnType<typeof startStandIn>>;
beforeAll(async () => {
  standIn = await startStandIn();
});
afterAll(() => standIn.stop());

const MESSAGE = 'I live in Lyon.';
const VIEW = { command: 'view', path: '/memories/user.md' } as const;

/** Starts a tool runner that ends after ten replies even if the stand-in continues to call the tool. */
function startRunner(
  options: { thread?: false } = {},
  content: string | { type: 'text'; text: string }[] = MESSAGE,
) {
  const memory = fixture.client();
  const bodies: { thread?: object; messages: unknown[] }[] = [];
  const anthropic = new Anthropic({
    baseURL: standIn.url,
    apiKey: 'none',
    fetch: (url, init) => {
      bodies.push(JSON.parse(String(init?.body)));
      return fetch(url, init);
    },
  });
  const runner = anthropic.beta.messages.toolRunner({
    model: 'claude-sonnet-5-5',
    max_tokens: 2048,
    max_iterations: 10,
    tools: [memoryTool(memory)],
    messages: [{ role: 'user', content }],
    ...options,
  });
  return { memory, bodies, runner };
}

const CONTINUE = { type: 'continue', previous_message_id: expect.stringMatching(/^msg_/) };

it.each([
  {
    form: 'only new messages of a thread',
    options: {},
    threads: [{ type: 'create' }, CONTINUE, CONTINUE],
    sent: [1, 1, 1],
  },
  {
    form: 'all messages with each request',
    options: { thread: false as const },
    threads: [undefined, undefined, undefined],
    sent: [1, 3, 5],
  },
])('plays the conversation to the end if the tool runner sends $form', async ({ options, threads, sent }) => {
  const { memory, bodies, runner } = startRunner(options);
  const { content, stop_reason } = await runner;
  expect({ content, stop_reason }).toStrictEqual({
    content: [{ type: 'text', text: `Done: ${MESSAGE}` }],
    stop_reason: 'end_turn',
  });
  expect(bodies.map(({ thread }) => thread)).toStrictEqual(threads);
  expect(bodies.map(({ messages }) => messages.length)).toStrictEqual(sent);
  expect((await memory.execute(VIEW)).content).toMatch(/numbers:\n {5}1\t- I live in Lyon\.\n {5}2\t$/);
});

it('plays the conversation to the end even if the stand-in restarts during it', async () => {
  const { memory, bodies, runner } = startRunner();
  let replies = 0;
  for await (const { content } of runner) {
    replies++;
    if (replies === 1) {
      await standIn.stop();
      standIn = await startStandIn(new URL(standIn.url).port);
    }
    if (replies === 3) expect(content).toStrictEqual([{ type: 'text', text: `Done: ${MESSAGE}` }]);
  }
  expect(replies).toBe(3);
  // The SDK sends the whole conversation again when the API has lost the thread.
  const create = { type: 'create' };
  expect(bodies.map(({ thread }) => thread)).toStrictEqual([create, CONTINUE, create, CONTINUE]);
  expect((await memory.execute(VIEW)).content).toMatch(/numbers:\n {5}1\t- I live in Lyon\.\n {5}2\t$/);
});

it('joins the text blocks in a user message', async () => {
  const [words, rest] = [MESSAGE.slice(0, 7), MESSAGE.slice(7)];
  const { runner } = startRunner({}, [
    { type: 'text', text: words },
    { type: 'text', text: rest },
  ]);
  expect((await runner).content).toStrictEqual([{ type: 'text', text: `Done: ${MESSAGE}` }]);
});

it('prints the outputs that the tutorial documents for its three messages', async () => {
  const root = new URL('../..', import.meta.url);
  const tutorial = await readFile(new URL('docs/tutorial.md', root), 'utf8');
  const messages = [...tutorial.matchAll(/^npx tsx examples\/messages\.ts '(.*)'$/gm)].map(
    ([, text = '']) => text,
  );
  const outputs = [...tutorial.matchAll(/^```\n(> .*?\n)```$/gms)].map(([, text]) => text);
  expect(messages).toHaveLength(3);
  const env = {
    PATH: process.env.PATH,
    MEMORY_SERVICE_URL: fixture.url,
    MEMORY_SERVICE_API_KEY: await fixture.tenantKey(),
    ANTHROPIC_BASE_URL: standIn.url,
    ANTHROPIC_API_KEY: 'none',
  };
  for (const [i, message] of messages.entries()) {
    const command = ['--import', 'tsx', 'examples/messages.ts', message];
    const ran = await promisify(execFile)(process.execPath, command, { cwd: root, env });
    expect(ran).toStrictEqual({ stdout: outputs[i], stderr: '' });
  }
});
