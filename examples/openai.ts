/**
 * A model from OpenAI, or from a provider with a compatible API, with shared memory:
 *
 *   export MEMORY_SERVICE_URL=http://localhost:8080 MEMORY_SERVICE_API_KEY=msk_… OPENAI_API_KEY=… MODEL=gpt-…
 *   npx tsx examples/openai.ts "I live in Lyon."
 *
 * It calls the Chat Completions API with `fetch`. The SDK `openai` has the same messages.
 */
import { MemoryClient } from 'memory-service-client';
import { CHAT_TOOLS, type ChatToolCall, runToolCalls } from 'memory-service-client/openai';

interface Reply {
  role: 'assistant';
  content: string | null;
  tool_calls?: ChatToolCall[];
}

const memory = new MemoryClient({
  url: process.env.MEMORY_SERVICE_URL ?? 'http://localhost:8080',
  apiKey: process.env.MEMORY_SERVICE_API_KEY,
  tenant: process.env.MEMORY_SERVICE_TENANT,
});
const api = process.env.OPENAI_BASE_URL ?? 'https://api.openai.com/v1';
const headers = {
  'Content-Type': 'application/json',
  Authorization: `Bearer ${process.env.OPENAI_API_KEY}`,
};

async function complete(messages: object[]): Promise<Reply> {
  const body = JSON.stringify({ model: process.env.MODEL, tools: CHAT_TOOLS, messages });
  const response = await fetch(`${api}/chat/completions`, { method: 'POST', headers, body });
  if (!response.ok) throw new Error(`The API responded with ${response.status}: ${await response.text()}`);
  const { choices } = (await response.json()) as { choices: [{ message: Reply }] };
  return choices[0].message;
}

const conversation = crypto.randomUUID();
const messages: object[] = [
  { role: 'system', content: await memory.instructions() },
  { role: 'user', content: process.argv[2] ?? 'I live in Lyon. Please remember that.' },
];
for (;;) {
  const reply = await complete(messages);
  messages.push(reply);
  if (reply.content) console.log(reply.content);
  if (!reply.tool_calls?.length) break;
  for (const call of reply.tool_calls) console.log('>', call.function?.arguments);
  messages.push(...(await runToolCalls(memory, reply, { conversation })));
}
