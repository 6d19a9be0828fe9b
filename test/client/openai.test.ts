import { CHAT_TOOLS, RESPONSES_TOOLS, runFunctionCalls, runToolCalls } from 'memory-service-client/openai';
import { expect, it } from 'vitest';
import { TOOLS } from '../../src/features/mcp/tools.ts';
import { useAgentFixture } from './agent-fixture.ts';

const fixture = useAgentFixture();
const PATH = '/memories/user.md';
const CREATE = { command: 'create', path: PATH, file_text: 'Lives in Lyon.' };
const call = (id: string, given: unknown, name = 'memory') => ({
  id,
  type: 'function',
  function: { name, arguments: given },
});

it('defines the OpenAI tools with the same names, descriptions, and schemas as the MCP tools', () => {
  const tools = TOOLS.map(({ name, description, inputSchema: parameters }) => ({
    name,
    description,
    parameters,
  }));
  expect(CHAT_TOOLS.map((tool) => tool.function)).toStrictEqual(tools);
  expect(
    RESPONSES_TOOLS.map(({ name, description, parameters }) => ({ name, description, parameters })),
  ).toStrictEqual(tools);
});

it('runs OpenAI function calls in order, whether their arguments are JSON text or an object', async () => {
  const client = fixture.client();
  const message = {
    tool_calls: [
      call('call_0', JSON.stringify(CREATE)),
      call('call_1', { command: 'view', path: PATH }),
      call('call_2', '{"command":"view"', 'memory'),
      call('call_3', '', 'memory'),
      call('call_4', '[1]', 'memory_search'),
      call('call_5', '{}', 'weather'),
    ],
  };
  expect(await runToolCalls(client, message)).toStrictEqual([
    { role: 'tool', tool_call_id: 'call_0', content: 'File created successfully at: /memories/user.md' },
    {
      role: 'tool',
      tool_call_id: 'call_1',
      content: "Here's the content of /memories/user.md with line numbers:\n     1\tLives in Lyon.",
    },
    {
      role: 'tool',
      tool_call_id: 'call_2',
      content:
        'Error: Invalid input for memory: the arguments are not valid JSON. Send the call again with a JSON object.',
    },
    {
      role: 'tool',
      tool_call_id: 'call_3',
      content: 'Error: Invalid input for memory: `command` is missing',
    },
    {
      role: 'tool',
      tool_call_id: 'call_4',
      content: 'Error: Invalid input for memory_search: `input` must be an object',
    },
  ]);
  expect(await runToolCalls(client, { tool_calls: null })).toStrictEqual([]);
});

it('writes once if a message is repeated, and again if another conversation uses the same call ID', async () => {
  const client = fixture.client();
  const item = {
    type: 'function_call',
    call_id: 'call_0',
    name: 'memory',
    arguments: JSON.stringify(CREATE),
  };
  const output = [{ type: 'reasoning' }, item];
  const result = (text: string) => [{ type: 'function_call_output', call_id: 'call_0', output: text }];
  const created = result('File created successfully at: /memories/user.md');
  expect(await runFunctionCalls(client, output, { conversation: 'a' })).toStrictEqual(created);
  expect(await runFunctionCalls(client, output, { conversation: 'a' })).toStrictEqual(created);
  expect(await runFunctionCalls(client, output, { conversation: 'b' })).toStrictEqual(
    result('Error: File /memories/user.md already exists'),
  );
});
