/** Features in the Anthropic adapter beyond the end-to-end conversations. */
import Anthropic from '@anthropic-ai/sdk';
import { ToolError } from '@anthropic-ai/sdk/lib/tools/ToolError';
import { memoryTool } from 'memory-service-client/anthropic';
import { expect, it } from 'vitest';
import { resultsSent } from '../support/messages-api.ts';
import { result, text, use, useAgentFixture } from './agent-fixture.ts';

const fixture = useAgentFixture();
const VIEW = { command: 'view', path: '/memories' } as const;

const run = (
  url: string,
  tool: ReturnType<typeof memoryTool>,
  options = {},
  params: { thread?: false } = {},
) =>
  new Anthropic({ baseURL: url, apiKey: 'test', maxRetries: 0 }).beta.messages.toolRunner(
    {
      model: 'claude-sonnet-5-5',
      max_tokens: 2048,
      messages: [{ role: 'user', content: 'Hello' }],
      tools: [tool],
      ...params,
    },
    options,
  );

it('sends a tool definition that has cache_control through the Anthropic SDK to the API', async () => {
  const api = await fixture.messagesApi([[text('Hello.')]]);
  await run(api.url, memoryTool(fixture.client(), { cache_control: { type: 'ephemeral' } }));
  expect(api.requests[0]?.body.tools).toStrictEqual([
    { type: 'memory_20250818', name: 'memory', cache_control: { type: 'ephemeral' } },
  ]);
});

it('tells the model why the service rejected a call, calls onError, and continues the conversation', async () => {
  const api = await fixture.messagesApi([[use('toolu_1', VIEW)], [text('My memory is away.')]]);
  const told: string[] = [];
  const memory = fixture.client({ apiKey: 'msk_wrong', onError: ({ code }) => told.push(code) });
  const answer = await run(api.url, memoryTool(memory));
  expect(answer.content).toMatchObject([{ text: 'My memory is away.' }]);
  expect(told).toStrictEqual(['unauthorized']);
  const [sent] = resultsSent(api)[1] ?? [];
  expect(sent).toMatchObject({ tool_use_id: 'toolu_1', is_error: true });
  expect(sent?.content).toMatch(
    /^Error: The memory service responded with 401 unauthorized: .* \(request [0-9a-f-]{36}\)$/,
  );
});

it('writes once if a conversation is repeated from the start with the same call IDs', async () => {
  const memory = fixture.client();
  await memory.execute({ command: 'create', path: '/memories/log', file_text: 'start' });
  const replies = [
    [use('toolu_1', { command: 'insert', path: '/memories/log', insert_line: 1, insert_text: 'step 1' })],
    [use('toolu_2', { command: 'insert', path: '/memories/log', insert_line: 2, insert_text: 'step 2' })],
    [text('Done.')],
  ];
  for (let times = 0; times < 2; times++) {
    const api = await fixture.messagesApi(replies);
    await run(api.url, memoryTool(memory));
    expect(resultsSent(api)).toStrictEqual([
      [],
      [result('toolu_1', 'The file /memories/log has been edited.')],
      [result('toolu_2', 'The file /memories/log has been edited.')],
    ]);
  }
  expect((await memory.execute({ command: 'view', path: '/memories/log' })).content).toBe(
    "Here's the content of /memories/log with line numbers:\n     1\tstart\n     2\tstep 1\n     3\tstep 2",
  );
});

const CREATE_THREAD = { type: 'create' };
const continueFrom = (id: string) => ({ type: 'continue', previous_message_id: id });

it.each([
  {
    form: 'new messages in a thread',
    params: {},
    hasThreads: true,
    threads: [CREATE_THREAD, continueFrom('msg_1'), continueFrom('msg_2')],
    sent: [1, 1, 1],
  },
  {
    form: 'all messages with `thread: false`',
    params: { thread: false as const },
    hasThreads: true,
    threads: [undefined, undefined, undefined],
    sent: [1, 3, 5],
  },
  {
    form: 'all messages after the API rejects a thread',
    params: {},
    hasThreads: false,
    threads: [undefined, undefined, undefined],
    sent: [1, 3, 5],
  },
])(
  'gives the model each result if the tool runner sends $form',
  async ({ params, hasThreads, threads, sent }) => {
    const path = '/memories/user.md';
    const api = await fixture.messagesApi([
      [use('toolu_1', { command: 'create', path, file_text: 'Lives in Lyon.' })],
      [use('toolu_2', { command: 'view', path })],
      [text('Done.')],
    ]);
    api.hasThreads = hasThreads;
    expect((await run(api.url, memoryTool(fixture.client()), {}, params)).content).toStrictEqual([
      text('Done.'),
    ]);
    expect(resultsSent(api)).toStrictEqual([
      [],
      [result('toolu_1', 'File created successfully at: /memories/user.md')],
      [
        result(
          'toolu_2',
          "Here's the content of /memories/user.md with line numbers:\n     1\tLives in Lyon.",
        ),
      ],
    ]);
    expect(api.requests.map(({ body }) => body.thread)).toStrictEqual(threads);
    expect(api.requests.map(({ body }) => body.messages.length)).toStrictEqual(sent);
  },
);

it("aborts the memory call when the tool runner's signal aborts", async () => {
  const controller = new AbortController();
  const memory = fixture.client({
    fetch: (_url, init) =>
      new Promise((_, reject) => {
        init?.signal?.addEventListener('abort', () => reject(init.signal?.reason));
        controller.abort();
      }),
  });
  const api = await fixture.messagesApi([[use('toolu_1', VIEW)], [text('never')]]);
  const runner = run(api.url, memoryTool(memory), { signal: controller.signal });
  await expect(runner.runUntilDone()).rejects.toThrow('Request was aborted.');
  expect(api.requests).toHaveLength(1);
});

it('runs an input if the tool is called without a context that has a tool_use block', async () => {
  const tool = memoryTool(fixture.client());
  expect(await tool.run(VIEW)).toBe(
    "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:\n4.0K\t/memories",
  );
  const missing = { command: 'delete', path: '/memories/f' } as const;
  await expect(tool.run(missing)).rejects.toThrow(
    new ToolError('Error: The path /memories/f does not exist'),
  );
});
