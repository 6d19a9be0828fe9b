/**
 * Agents with `memory` and `memory_search` find a fact among a thousand files and edit its file, through each adapter
 * and through MCP.
 */
import { createAnthropic } from '@ai-sdk/anthropic';
import Anthropic from '@anthropic-ai/sdk';
import { ChatAnthropic } from '@langchain/anthropic';
import { type BaseMessage, HumanMessage } from '@langchain/core/messages';
import { generateText, jsonSchema, stepCountIs } from 'ai';
import { MEMORY_SEARCH_TOOL, type MemoryClient, runMemoryTools } from 'memory-service-client';
import { memoryTools as aiSdkTools } from 'memory-service-client/ai-sdk';
import { memoryTools as anthropicTools } from 'memory-service-client/anthropic';
import { memoryTools as langchainTools } from 'memory-service-client/langchain';
import { beforeAll, describe, expect, it } from 'vitest';
import { TOOLS } from '../../src/features/mcp/tools.ts';
import { readSearchInput, searchSchema } from '../../src/features/search/input.ts';
import { resultsSent } from '../support/messages-api.ts';
import { freshTenant } from '../support/test-service.ts';
import { text, use, useAgentFixture } from './agent-fixture.ts';
import { connectStdio } from './mcp-connection.ts';

const fixture = useAgentFixture();
const FILES = 1000;
const BLOCKS = 25;
const PLACES = ['anthropic', 'ai-sdk', 'langchain', 'messages', 'mcp'] as const;
type Place = (typeof PLACES)[number];

const tenant = freshTenant();
const contractPath = (place: Place) => `/memories/customers/region-7/${place}/contract.md`;
const CONTENT = '# Contract\nRenewal date: 12 March\nContact: Odile Faure\n';

/** Returns unrelated files and one file with the fact for each place. */
function files(): [path: string, text: string][] {
  const others = Array.from({ length: FILES - PLACES.length }, (_, i): [string, string] => [
    `/memories/customers/region-${i % 9}/customer-${i}/notes.md`,
    `# Customer ${i}\nContact: Person ${i}\nThey asked about invoice ${i * 7}. Call back on day ${i % 28}.\n`,
  ]);
  return [...others, ...PLACES.map((place): [string, string] => [contractPath(place), CONTENT])];
}

beforeAll(async () => {
  const all = files();
  for (let start = 0; start < all.length; start += BLOCKS) {
    const calls = all
      .slice(start, start + BLOCKS)
      .map(([path, file_text], i) => use(`seed_${start + i}`, { command: 'create', path, file_text }));
    const response = await fetch(`${fixture.url}/execute`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${fixture.serviceKey}`,
        'x-tenant-id': tenant,
      },
      body: JSON.stringify(calls),
    });
    expect(await response.json()).not.toContainEqual(expect.objectContaining({ is_error: true }));
  }
});

const searchCall = (place: Place) => ({
  query: 'Odile Faure renewal',
  path: `/memories/customers/region-7/${place}`,
});
const editCall = (place: Place) => ({
  command: 'str_replace',
  path: contractPath(place),
  old_str: '12 March',
  new_str: '30 June',
});
const foundText = (place: Place) =>
  `Found 1 file in /memories/customers/region-7/${place}, the best first:\n${contractPath(place)}:2: Renewal date: 12 March\n${contractPath(place)}:3: Contact: Odile Faure`;
const EDITED =
  'The memory file has been edited. Here is the snippet showing the change (with line numbers):\n     1\t# Contract\n     2\tRenewal date: 30 June\n     3\tContact: Odile Faure\n     4\t';

/**
 * Builds a turn that searches, a turn that edits the found file, and a turn with an invalid search and a view of the
 * edit.
 */
const script = (place: Place) => [
  [use(`${place}_1`, { query: 'Odile Faure' }, 'memory_search')],
  [use(`${place}_2`, editCall(place)), use(`${place}_3`, searchCall(place), 'memory_search')],
  [use(`${place}_4`, { query: '' }, 'memory_search')],
  [text('The contract now renews on 30 June.')],
];
const EMPTY_QUERY = 'Error: Invalid `query` parameter: it must not be empty';

describe('a search over a thousand files', () => {
  it.each(['anthropic', 'ai-sdk', 'langchain', 'messages'] as const)(
    'finds a fact in a thousand files and edits the file that contains it, through the adapter %s',
    async (place) => {
      const api = await fixture.messagesApi(script(place));
      const memory = fixture.client({ tenant });
      await play[place](api.url, memory);
      const [, [first] = [], second = [], [third] = []] = resultsSent(api);
      // The result has all files with the contact, including the file for this adapter.
      expect(first?.content).toMatch(/^Found 5 files in \/memories, the best first:\n/);
      expect(first?.content).toContain(`${contractPath(place)}:3: Contact: Odile Faure`);
      // The search includes the earlier edit in the same turn.
      expect(second).toMatchObject([
        { tool_use_id: `${place}_2`, content: EDITED },
        { tool_use_id: `${place}_3`, content: foundText(place).replace('12 March', '30 June') },
      ]);
      expect(third).toMatchObject({ tool_use_id: `${place}_4`, content: EMPTY_QUERY });
      const { content } = await memory.execute({
        command: 'view',
        path: contractPath(place),
        view_range: [2, 2],
      });
      expect(content).toContain('Renewal date: 30 June');
    },
  );

  it('finds a fact in a thousand files and edits the file that contains it, over MCP', async () => {
    const client = await connectStdio(fixture.url, fixture.serviceKey, tenant);
    expect((await client.listTools()).tools).toStrictEqual(TOOLS);
    const call = async (name: string, args: Record<string, unknown>) =>
      client.callTool({ name, arguments: args });
    const answer = (content: string, isError = false) => ({
      content: [{ type: 'text', text: content }],
      isError,
    });
    expect(await call('memory_search', { query: 'Odile Faure' })).toMatchObject({
      content: [{ text: expect.stringContaining(`${contractPath('mcp')}:3: Contact: Odile Faure`) }],
    });
    expect(await call('memory_search', searchCall('mcp'))).toStrictEqual(answer(foundText('mcp')));
    expect(await call('memory', editCall('mcp'))).toStrictEqual(answer(EDITED));
    expect(await call('memory_search', { query: '' })).toStrictEqual(answer(EMPTY_QUERY, true));
    await expect(call('search', {})).rejects.toThrow('The tools are memory and memory_search.');
  });
});

const play: Record<Exclude<Place, 'mcp'>, (url: string, memory: MemoryClient) => PromiseLike<unknown>> = {
  anthropic: (url, memory) =>
    new Anthropic({ baseURL: url, apiKey: 'test', maxRetries: 0 }).beta.messages.toolRunner({
      model: 'claude-sonnet-5-5',
      max_tokens: 2048,
      messages: [{ role: 'user', content: 'Hello' }],
      tools: anthropicTools(memory),
    }),
  'ai-sdk': (url, memory) => {
    const anthropic = createAnthropic({ baseURL: `${url}/v1`, apiKey: 'test' });
    return generateText({
      model: anthropic('claude-sonnet-5-5'),
      tools: aiSdkTools(memory, { anthropic, jsonSchema }),
      stopWhen: stepCountIs(10),
      prompt: 'Hello',
      maxRetries: 0,
    });
  },
  langchain: async (url, memory) => {
    const tools = langchainTools(memory);
    const options = { model: 'claude-sonnet-5-5', apiKey: 'test', anthropicApiUrl: url, maxRetries: 0 };
    const model = new ChatAnthropic(options).bindTools(tools);
    const messages: BaseMessage[] = [new HumanMessage('Hello')];
    for (;;) {
      const answer = await model.invoke(messages);
      messages.push(answer);
      const calls = answer.tool_calls ?? [];
      if (calls.length === 0) return messages;
      const called = calls.map((call) => tools.find(({ name }) => name === call.name)?.invoke(call));
      messages.push(...((await Promise.all(called)) as BaseMessage[]));
    }
  },
  messages: async (url, memory) => {
    const anthropic = new Anthropic({ baseURL: url, apiKey: 'test', maxRetries: 0 });
    const messages: Anthropic.Beta.BetaMessageParam[] = [{ role: 'user', content: 'Hello' }];
    for (;;) {
      const message = await anthropic.beta.messages.create({
        model: 'claude-sonnet-5-5',
        max_tokens: 2048,
        messages,
        tools: [{ type: 'memory_20250818', name: 'memory' }, MEMORY_SEARCH_TOOL],
      });
      const results = await runMemoryTools(memory, message);
      if (results.length === 0) return message;
      messages.push({ role: 'assistant', content: message.content }, { role: 'user', content: results });
    }
  },
};

it('lists in the search tool the same fields that the service accepts', () => {
  expect(Object.keys(MEMORY_SEARCH_TOOL.input_schema.properties)).toStrictEqual(
    Object.keys(searchSchema.shape),
  );
  expect(MEMORY_SEARCH_TOOL.input_schema.properties.mode.enum).toStrictEqual(['words', 'literal', 'regex']);
  expect(readSearchInput({ query: 'x' })).toMatchObject({ request: { path: '/memories', maxResults: 20 } });
});

it('sends the definitions for both tools to the API', async () => {
  const api = await fixture.messagesApi([[text('Hello.')]]);
  await play.anthropic(api.url, fixture.client());
  expect(api.requests[0]?.body.tools).toStrictEqual([
    { type: 'memory_20250818', name: 'memory' },
    MEMORY_SEARCH_TOOL,
  ]);
});
