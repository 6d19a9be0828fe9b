/** A LangChain agent with the memory tool, in the project that it is copied to. It prints the last message. */
import { ChatAnthropic } from '@langchain/anthropic';
import { createAgent } from 'langchain';
import { MemoryClient } from 'memory-service-client';
import { memoryTool } from 'memory-service-client/langchain';

const { MEMORY_SERVICE_URL: url, MEMORY_SERVICE_API_KEY: apiKey } = process.env;
const agent = createAgent({
  model: new ChatAnthropic({ model: 'claude-sonnet-5-5' }),
  tools: [memoryTool(new MemoryClient({ url, apiKey }))],
});
const { messages } = await agent.invoke({
  messages: [{ role: 'user', content: 'I live in Lyon. Please remember that.' }],
});
console.log(messages.at(-1).text);
