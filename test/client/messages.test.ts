import Anthropic from '@anthropic-ai/sdk';
import { runMemoryTools } from 'memory-service-client';
import { expect, it } from 'vitest';
import { resultsSent } from '../support/messages-api.ts';
import { text, use, useAgentFixture } from './agent-fixture.ts';

const fixture = useAgentFixture();

it("executes a message's memory calls in order, and ignores calls to other tools", async () => {
  const api = await fixture.messagesApi([
    [
      text('Let me see.'),
      use('toolu_1', { command: 'create', path: '/memories/f', file_text: 'x' }),
      use('toolu_2', { city: 'Lyon' }, 'weather'),
      use('toolu_3', { command: 'create', path: '/memories/f', file_text: 'x' }),
      use('toolu_4', { command: 'view', path: '/memories/f' }),
    ],
    [text('Done.')],
  ]);
  const anthropic = new Anthropic({ baseURL: api.url, apiKey: 'test', maxRetries: 0 });
  const request = {
    model: 'claude-sonnet-5-5',
    max_tokens: 2048,
    tools: [{ type: 'memory_20250818', name: 'memory' } as const],
  };
  const messages: Anthropic.Beta.BetaMessageParam[] = [{ role: 'user', content: 'Hello' }];
  const answer = await anthropic.beta.messages.create({ ...request, messages });

  const results = await runMemoryTools(fixture.client(), answer);
  const block = (tool_use_id: string, content: string, is_error: boolean) => ({
    type: 'tool_result',
    tool_use_id,
    content,
    is_error,
  });
  const expected = [
    block('toolu_1', 'File created successfully at: /memories/f', false),
    block('toolu_3', 'Error: File /memories/f already exists', true),
    block('toolu_4', "Here's the content of /memories/f with line numbers:\n     1\tx", false),
  ];
  expect(results).toStrictEqual(expected);

  const weather = { type: 'tool_result', tool_use_id: 'toolu_2', content: 'Sunny' } as const;
  messages.push({ role: 'assistant', content: answer.content });
  messages.push({ role: 'user', content: [...results, weather] });
  await anthropic.beta.messages.create({ ...request, messages });
  expect(resultsSent(api)[1]).toStrictEqual([...expected, weather]);
});

it('returns no results for a message without memory calls', async () => {
  const memory = fixture.client();
  expect(await runMemoryTools(memory, { content: 'Hello' })).toStrictEqual([]);
  expect(
    await runMemoryTools(memory, { content: [text('Hello'), use('toolu_1', {}, 'bash')] }),
  ).toStrictEqual([]);
});

it('applies a write once if the message is executed again after a network error', async () => {
  const tenant = 'message-again';
  const message = {
    content: [
      use('toolu_1', { command: 'create', path: '/memories/f', file_text: 'x' }),
      use('toolu_2', { command: 'view', path: '/memories/f' }),
    ],
  };
  let calls = 0;
  const failing = fixture.client({
    tenant,
    maxRetries: 0,
    fetch: async (url, init) => {
      if (++calls === 2) throw new TypeError('fetch failed');
      return fetch(url, init);
    },
  });
  await expect(runMemoryTools(failing, message)).rejects.toMatchObject({ code: 'network_error' });
  const results = await runMemoryTools(fixture.client({ tenant }), message);
  expect(results.map(({ content, is_error }) => [content, is_error])).toStrictEqual([
    ['File created successfully at: /memories/f', false],
    ["Here's the content of /memories/f with line numbers:\n     1\tx", false],
  ]);
});
