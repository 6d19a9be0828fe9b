/** Several calls in one turn with the SDK's tool runner, in all its modes and with lost responses. */
import Anthropic from '@anthropic-ai/sdk';
import { memoryTool } from 'memory-service-client/anthropic';
import { expect, it, vi } from 'vitest';
import { resultsSent } from '../support/messages-api.ts';
import { failure, result, text, use, useAgentFixture } from './agent-fixture.ts';

const fixture = useAgentFixture();

const request = { model: 'claude-sonnet-5-5', max_tokens: 2048 };
const anthropic = (url: string) => new Anthropic({ baseURL: url, apiKey: 'test', maxRetries: 0 });

/** Several calls in one turn: later calls build on earlier ones, and a failed call does not stop the others. */
const PARALLEL = [
  [
    text('I will set up my notes.'),
    use('toolu_1', { command: 'create', path: '/memories/notes/a.txt', file_text: 'one\ntwo\ntwo\n' }),
    use('toolu_2', { command: 'create', path: '/memories/notes/a.txt', file_text: '' }),
    use('toolu_3', {
      command: 'insert',
      path: '/memories/notes/a.txt',
      insert_line: 1,
      insert_text: 'new\n',
    }),
    use('toolu_4', { command: 'str_replace', path: '/memories/notes/a.txt', old_str: 'two', new_str: '2' }),
    use('toolu_5', { command: 'str_replace', path: '/memories/notes/a.txt', old_str: 'x', new_str: 'y' }),
    use('toolu_6', { command: 'view', path: '/memories/notes/a.txt', view_range: [1, 2] }),
    use('toolu_7', { command: 'rename', old_path: '/memories/notes', new_path: '/memories/archive' }),
    use('toolu_8', { command: 'view', path: '/memories/notes' }),
    use('toolu_9', { command: 'delete', path: '/memories/notes' }),
    use('toolu_10', { command: 'append', path: '/memories/notes/a.txt' }),
    use('toolu_11', { command: 'view' }),
    use('toolu_12', { command: 'view', path: '/memories/../etc/passwd' }),
    use('toolu_13', { command: 'view', path: '/memories' }),
  ],
  [text('Done.')],
];
const PARALLEL_RESULTS = [
  [],
  [
    result('toolu_1', 'File created successfully at: /memories/notes/a.txt'),
    failure('toolu_2', 'Error: File /memories/notes/a.txt already exists'),
    result('toolu_3', 'The file /memories/notes/a.txt has been edited.'),
    failure(
      'toolu_4',
      'No replacement was performed. Multiple occurrences of old_str `two` in lines: 3, 4. Please ensure it is unique',
    ),
    failure(
      'toolu_5',
      'No replacement was performed, old_str `x` did not appear verbatim in /memories/notes/a.txt.',
    ),
    result(
      'toolu_6',
      "Here's the content of /memories/notes/a.txt with line numbers:\n     1\tone\n     2\tnew",
    ),
    result('toolu_7', 'Successfully renamed /memories/notes to /memories/archive'),
    failure('toolu_8', 'The path /memories/notes does not exist. Please provide a valid path.'),
    failure('toolu_9', 'Error: The path /memories/notes does not exist'),
    failure(
      'toolu_10',
      'Error: Unknown command: append. The commands are view, create, str_replace, insert, delete, rename',
    ),
    failure('toolu_11', 'Error: Invalid input for view: `path` is missing'),
    failure('toolu_12', 'Error: Path /memories/../etc/passwd would escape /memories directory'),
    result(
      'toolu_13',
      "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:\n4.0K\t/memories\n4.0K\t/memories/archive/\n16B\t/memories/archive/a.txt",
    ),
  ],
];

it.each([
  ['in one reply', {}],
  ['streamed', { stream: true }],
  ['started while the reply streams', { stream: true, runToolsEagerly: true }],
] as const)('runs each parallel tool call once if the calls are %s', async (_, mode) => {
  const api = await fixture.messagesApi(PARALLEL);
  const runner = anthropic(api.url).beta.messages.toolRunner({
    ...request,
    ...mode,
    messages: [{ role: 'user', content: 'Set up your notes.' }],
    tools: [memoryTool(fixture.client())],
  });
  await runner.runUntilDone();
  expect(resultsSent(api)).toStrictEqual(PARALLEL_RESULTS);
});

it('runs each parallel tool call once even if the first response to the call is lost', async () => {
  vi.spyOn(Math, 'random').mockReturnValue(0);
  const seen = new Map<string, number>();
  const replayed: string[] = [];
  const memory = fixture.client({
    fetch: async (url, init) => {
      const response = await fetch(url, init);
      const { id } = JSON.parse(String(init?.body)) as { id: string };
      seen.set(id, (seen.get(id) ?? 0) + 1);
      if (seen.get(id) === 1) throw new TypeError('fetch failed');
      if (response.headers.get('Idempotency-Replayed') === 'true') replayed.push(id);
      return response;
    },
  });
  const api = await fixture.messagesApi(PARALLEL);
  await anthropic(api.url).beta.messages.toolRunner({
    ...request,
    messages: [{ role: 'user', content: 'Set up your notes.' }],
    tools: [memoryTool(memory)],
  });
  expect(resultsSent(api)).toStrictEqual(PARALLEL_RESULTS);
  expect([...seen.values()]).toStrictEqual(Array(13).fill(2));
  expect(replayed).toStrictEqual([
    'toolu_1',
    'toolu_2',
    'toolu_3',
    'toolu_4',
    'toolu_5',
    'toolu_7',
    'toolu_9',
  ]);
});
