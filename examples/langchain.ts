/**
 * Claude with shared memory, through LangChain:
 *
 *   export MEMORY_SERVICE_URL=http://localhost:8080 MEMORY_SERVICE_API_KEY=msk_… ANTHROPIC_API_KEY=…
 *   npx tsx examples/langchain.ts "I live in Lyon."
 */
import { ChatAnthropic } from '@langchain/anthropic';
import { type BaseMessage, HumanMessage } from '@langchain/core/messages';
import { MemoryClient } from 'memory-service-client';
import { memoryTool } from 'memory-service-client/langchain';

const client = new MemoryClient({
  url: process.env.MEMORY_SERVICE_URL ?? 'http://localhost:8080',
  apiKey: process.env.MEMORY_SERVICE_API_KEY,
  tenant: process.env.MEMORY_SERVICE_TENANT,
});

const memory = memoryTool(client);
const model = new ChatAnthropic({ model: 'claude-sonnet-5-5' }).bindTools([memory]);

const messages: BaseMessage[] = [
  new HumanMessage(process.argv[2] ?? 'I live in Lyon. Please remember that.'),
];
for (;;) {
  const answer = await model.invoke(messages);
  messages.push(answer);
  if (answer.text !== '') console.log(answer.text);
  if (!answer.tool_calls?.length) break;
  for (const call of answer.tool_calls) {
    console.log('>', JSON.stringify(call.args));
    messages.push(await memory.invoke(call));
  }
}
