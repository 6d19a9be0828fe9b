import { ChatAnthropic } from '@langchain/anthropic';
import { type BaseMessage, HumanMessage, ToolMessage } from '@langchain/core/messages';
import { MemoryServiceError } from 'memory-service-client';
import { memoryTool } from 'memory-service-client/langchain';
import { expect, it } from 'vitest';
import { resultsSent } from '../support/messages-api.ts';
import { result, text, use, useAgentFixture } from './agent-fixture.ts';

const fixture = useAgentFixture();

/** Plays a conversation. Like LangChain agents, it starts all calls in a turn simultaneously. */
async function play(url: string, client: ReturnType<typeof fixture.client>): Promise<BaseMessage[]> {
  const memory = memoryTool(client);
  const options = { model: 'claude-sonnet-5-5', apiKey: 'test', anthropicApiUrl: url, maxRetries: 0 };
  const model = new ChatAnthropic(options).bindTools([memory]);
  const messages: BaseMessage[] = [new HumanMessage('Hello')];
  for (;;) {
    const answer = await model.invoke(messages);
    messages.push(answer);
    if (!answer.tool_calls?.length) return messages;
    messages.push(...(await Promise.all(answer.tool_calls.map((call) => memory.invoke(call)))));
  }
}

it('returns the documented texts to the model through LangChain, and a status for each call', async () => {
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
  const messages = await play(api.url, fixture.client());
  expect(resultsSent(api)).toStrictEqual([
    [],
    [
      result('toolu_1', 'File created successfully at: /memories/f'),
      result('toolu_2', 'Error: File /memories/f already exists'),
      result('toolu_3', "Here's the content of /memories/f with line numbers:\n     2\ttwo\n     3\t"),
      result('toolu_4', 'The path /memories/g does not exist. Please provide a valid path.'),
    ],
    [result('toolu_5', 'Successfully deleted /memories/f')],
  ]);
  expect(
    messages.filter((message) => ToolMessage.isInstance(message)).map(({ name, status }) => [name, status]),
  ).toStrictEqual([
    ['memory', 'success'],
    ['memory', 'error'],
    ['memory', 'success'],
    ['memory', 'error'],
    ['memory', 'success'],
  ]);
});

it('writes once through LangChain if a conversation is repeated with the same call IDs', async () => {
  const client = fixture.client();
  for (let times = 0; times < 2; times++) {
    const api = await fixture.messagesApi([
      [use('toolu_1', { command: 'create', path: '/memories/f', file_text: 'x' })],
      [text('Done.')],
    ]);
    await play(api.url, client);
    expect(resultsSent(api)[1]).toStrictEqual([
      result('toolu_1', 'File created successfully at: /memories/f'),
    ]);
  }
});

it('returns only the content if the LangChain tool is invoked with an input and no tool call', async () => {
  const memory = memoryTool(fixture.client());
  expect(await memory.invoke({ command: 'delete', path: '/memories/f' })).toBe(
    'Error: The path /memories/f does not exist',
  );
});

it('throws from the LangChain tool if the service rejects the key', async () => {
  const api = await fixture.messagesApi([[use('toolu_1', { command: 'view', path: '/memories' })]]);
  const conversation = play(api.url, fixture.client({ apiKey: 'msk_wrong' }));
  await expect(conversation).rejects.toBeInstanceOf(MemoryServiceError);
});

it("sends the model's input through LangChain to the service without validating it", async () => {
  const path = '/memories/f';
  const api = await fixture.messagesApi([
    [
      use('toolu_1', { command: 'create', path, file_text: 'one, two' }),
      // Without `new_str`, the text is deleted.
      use('toolu_2', { command: 'str_replace', path, old_str: ', two' }),
      use('toolu_3', { command: 'insert', path }),
      use('toolu_4', { command: 'copy', path }),
      use('toolu_5', {}),
    ],
    [text('Done.')],
  ]);
  await play(api.url, fixture.client());
  expect(api.requests[0]?.body.tools).toStrictEqual([{ type: 'memory_20250818', name: 'memory' }]);
  expect(resultsSent(api)[1]).toStrictEqual([
    result('toolu_1', 'File created successfully at: /memories/f'),
    result(
      'toolu_2',
      'The memory file has been edited. Here is the snippet showing the change (with line numbers):\n     1\tone',
    ),
    result('toolu_3', 'Error: Invalid input for insert: `insert_line` is missing'),
    result(
      'toolu_4',
      'Error: Unknown command: copy. The commands are view, create, str_replace, insert, delete, rename',
    ),
    result('toolu_5', 'Error: Invalid input for memory: `command` is missing'),
  ]);
});
