import { createAnthropic } from '@ai-sdk/anthropic';
import { generateText, stepCountIs } from 'ai';
import { memoryExecute } from 'memory-service-client/ai-sdk';
import { expect, it } from 'vitest';
import { resultsSent } from '../support/messages-api.ts';
import { failure, result, text, use, useAgentFixture } from './agent-fixture.ts';

const fixture = useAgentFixture();

/** Plays a conversation with `generateText`. */
async function play(url: string, memory: ReturnType<typeof fixture.client>) {
  const anthropic = createAnthropic({ baseURL: `${url}/v1`, apiKey: 'test' });
  return generateText({
    model: anthropic('claude-sonnet-5-5'),
    tools: { memory: anthropic.tools.memory_20250818({ execute: memoryExecute(memory) }) },
    stopWhen: stepCountIs(10),
    prompt: 'Hello',
    maxRetries: 0,
  });
}

it('returns the documented texts through the AI SDK to the model, and marks failures with is_error', async () => {
  const api = await fixture.messagesApi([
    [
      use('toolu_1', { command: 'create', path: '/memories/f', file_text: 'one\ntwo\n' }),
      use('toolu_2', { command: 'create', path: '/memories/f', file_text: '' }),
      use('toolu_3', { command: 'view', path: '/memories/f', view_range: [2, -1] }),
      use('toolu_4', { command: 'view', path: '/memories/g' }),
    ],
    [use('toolu_5', { command: 'delete', path: '/memories/f' })],
    [text('Done.')],
  ]);
  const answer = await play(api.url, fixture.client());
  expect(answer.text).toBe('Done.');
  expect(resultsSent(api)).toStrictEqual([
    [],
    [
      result('toolu_1', 'File created successfully at: /memories/f'),
      failure('toolu_2', 'Error: File /memories/f already exists'),
      result('toolu_3', "Here's the content of /memories/f with line numbers:\n     2\ttwo\n     3\t"),
      failure('toolu_4', 'The path /memories/g does not exist. Please provide a valid path.'),
    ],
    [result('toolu_5', 'Successfully deleted /memories/f')],
  ]);
});

it('writes once through the AI SDK if a conversation is repeated with the same call IDs', async () => {
  const memory = fixture.client();
  for (let times = 0; times < 2; times++) {
    const api = await fixture.messagesApi([
      [use('toolu_1', { command: 'create', path: '/memories/f', file_text: 'x' })],
      [text('Done.')],
    ]);
    await play(api.url, memory);
    expect(resultsSent(api)[1]).toStrictEqual([
      result('toolu_1', 'File created successfully at: /memories/f'),
    ]);
  }
});

it('tells the model through the AI SDK why the service rejected a call', async () => {
  const api = await fixture.messagesApi([
    [use('toolu_1', { command: 'view', path: '/memories' })],
    [text('My memory is away.')],
  ]);
  await play(api.url, fixture.client({ apiKey: 'msk_wrong' }));
  const [sent] = resultsSent(api)[1] ?? [];
  expect(sent).toMatchObject({ is_error: true });
  expect(sent?.content).toMatch(
    /^The memory service responded with 401 unauthorized: .* \(request [0-9a-f-]{36}\)$/,
  );
});

it('tells the model why the AI SDK rejected an invalid input, and continues the conversation', async () => {
  const api = await fixture.messagesApi([
    [use('toolu_1', { command: 'str_replace', path: '/memories/f', old_str: 'x' })],
    [text('Done.')],
  ]);
  expect((await play(api.url, fixture.client())).text).toBe('Done.');
  const [sent] = resultsSent(api)[1] ?? [];
  expect(sent).toMatchObject({ tool_use_id: 'toolu_1', is_error: true });
  expect(sent?.content).toMatch(/^Invalid input for tool memory: /);
});
