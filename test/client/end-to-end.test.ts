/**
 * Conversations from the documentation with the SDK's tool runner, the adapter, the service on a socket, and real
 * Postgres. Every tool result that the SDK sends is compared with a literal.
 */
import Anthropic from '@anthropic-ai/sdk';
import type { BetaRunnableTool } from '@anthropic-ai/sdk/lib/tools/BetaRunnableTool';
import { memoryTool } from 'memory-service-client/anthropic';
import { expect, it } from 'vitest';
import { resultsSent } from '../support/messages-api.ts';
import { result, text, use, useAgentFixture } from './agent-fixture.ts';

const fixture = useAgentFixture();

const request = { model: 'claude-sonnet-5-5', max_tokens: 2048 };
const anthropic = (url: string) => new Anthropic({ baseURL: url, apiKey: 'test', maxRetries: 0 });

it('returns the directory and the guidelines to the model in a customer service conversation', async () => {
  const memory = fixture.client();
  // The sizes match the listing in the documentation: 1536 and 2048 bytes.
  const guidelines = `<guidelines>\n<addressing_customers>\n- Always address customers by their first name\n- Use empathetic language\n<!-- ${'.'.repeat(1389)} -->\n</addressing_customers>\n</guidelines>`;
  for (const [path, file_text] of [
    ['/memories/customer_service_guidelines.xml', guidelines],
    ['/memories/refund_policies.xml', '.'.repeat(2048)],
  ] as const) {
    await memory.execute({ command: 'create', path, file_text });
  }
  const api = await fixture.messagesApi([
    [
      text(
        "I'll help you respond to the customer service ticket. Let me check my memory for any previous context.",
      ),
      use('toolu_01C4D5E6F7G8H9I0J1K2L3M4', { command: 'view', path: '/memories' }),
    ],
    [
      use('toolu_01D5E6F7G8H9I0J1K2L3M4N5', {
        command: 'view',
        path: '/memories/customer_service_guidelines.xml',
      }),
    ],
    [
      text(
        'Based on your customer service guidelines, I can help you craft a response. Please share the ticket details...',
      ),
    ],
  ]);

  const answer = await anthropic(api.url).beta.messages.toolRunner({
    ...request,
    messages: [{ role: 'user', content: 'Help me respond to this customer service ticket.' }],
    tools: [memoryTool(memory)],
  });

  expect(answer.content).toMatchObject([
    {
      text: 'Based on your customer service guidelines, I can help you craft a response. Please share the ticket details...',
    },
  ]);
  expect(resultsSent(api)).toStrictEqual([
    [],
    [
      {
        type: 'tool_result',
        tool_use_id: 'toolu_01C4D5E6F7G8H9I0J1K2L3M4',
        content:
          "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:\n4.0K\t/memories\n1.5K\t/memories/customer_service_guidelines.xml\n2.0K\t/memories/refund_policies.xml",
      },
    ],
    [
      {
        type: 'tool_result',
        tool_use_id: 'toolu_01D5E6F7G8H9I0J1K2L3M4N5',
        content: `Here's the content of /memories/customer_service_guidelines.xml with line numbers:\n     1\t<guidelines>\n     2\t<addressing_customers>\n     3\t- Always address customers by their first name\n     4\t- Use empathetic language\n     5\t<!-- ${'.'.repeat(1389)} -->\n     6\t</addressing_customers>\n     7\t</guidelines>`,
      },
    ],
  ]);
  expect(api.requests[0]?.body.tools).toStrictEqual([{ type: 'memory_20250818', name: 'memory' }]);
});

it('keeps progress in a file while the API clears older tool results from a long conversation', async () => {
  const editFile: BetaRunnableTool<{ path: string }> = {
    name: 'edit_file',
    description: 'Edits a file of the project.',
    input_schema: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
    parse: (input) => input as { path: string },
    run: ({ path }) => `Edited ${path}`,
  };
  const progress = '/memories/refactoring_progress.xml';
  const edit = (id: string, path: string) => use(id, { path }, 'edit_file');
  const api = await fixture.messagesApi([
    [use('toolu_1', { command: 'view', path: '/memories' })],
    [edit('toolu_2', 'a.py'), edit('toolu_3', 'b.py')],
    // The API has warned that the context is nearly full.
    [
      text('Let me record what is done before older results are cleared.'),
      use('toolu_4', {
        command: 'create',
        path: progress,
        file_text: '<done>\na.py\nb.py\n</done>\n<next>c.py</next>\n',
      }),
    ],
    {
      content: [edit('toolu_5', 'c.py')],
      context_management: {
        applied_edits: [
          { type: 'clear_tool_uses_20250919', cleared_tool_uses: 2, cleared_input_tokens: 50_000 },
        ],
      },
    },
    [use('toolu_6', { command: 'view', path: progress })],
    [
      use('toolu_7', {
        command: 'str_replace',
        path: progress,
        old_str: '</done>\n<next>c.py</next>',
        new_str: 'c.py\n</done>',
      }),
    ],
    [text('All three files are refactored.')],
  ]);

  await anthropic(api.url).beta.messages.toolRunner({
    ...request,
    betas: ['context-management-2025-06-27'],
    max_tokens: 4096,
    messages: [{ role: 'user', content: 'Refactor this project.' }],
    tools: [memoryTool(fixture.client()), editFile],
    context_management: {
      edits: [
        {
          type: 'clear_tool_uses_20250919',
          trigger: { type: 'input_tokens', value: 100_000 },
          keep: { type: 'tool_uses', value: 3 },
          exclude_tools: ['memory'],
        },
      ],
    },
  });

  expect(resultsSent(api)).toStrictEqual([
    [],
    [
      result(
        'toolu_1',
        "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:\n4.0K\t/memories",
      ),
    ],
    [result('toolu_2', 'Edited a.py'), result('toolu_3', 'Edited b.py')],
    [result('toolu_4', 'File created successfully at: /memories/refactoring_progress.xml')],
    [result('toolu_5', 'Edited c.py')],
    [
      result(
        'toolu_6',
        "Here's the content of /memories/refactoring_progress.xml with line numbers:\n     1\t<done>\n     2\ta.py\n     3\tb.py\n     4\t</done>\n     5\t<next>c.py</next>\n     6\t",
      ),
    ],
    [
      result(
        'toolu_7',
        'The memory file has been edited. Here is the snippet showing the change (with line numbers):\n     2\ta.py\n     3\tb.py\n     4\tc.py\n     5\t</done>\n     6\t',
      ),
    ],
  ]);
  for (const { headers, body } of api.requests) {
    expect(String(headers['anthropic-beta']).split(',')).toContain('context-management-2025-06-27');
    expect(body.context_management).toStrictEqual({
      edits: [
        {
          type: 'clear_tool_uses_20250919',
          trigger: { type: 'input_tokens', value: 100_000 },
          keep: { type: 'tool_uses', value: 3 },
          exclude_tools: ['memory'],
        },
      ],
    });
  }
});
