/**
 * Claude with shared memory, through the Anthropic SDK's tool runner:
 *
 *   export MEMORY_SERVICE_URL=http://localhost:8080 MEMORY_SERVICE_API_KEY=msk_… ANTHROPIC_API_KEY=…
 *   npx tsx examples/anthropic.ts "I live in Lyon."
 */
import Anthropic from '@anthropic-ai/sdk';
import { MemoryClient } from 'memory-service-client';
import { memoryTool } from 'memory-service-client/anthropic';

const memory = new MemoryClient({
  url: process.env.MEMORY_SERVICE_URL ?? 'http://localhost:8080',
  apiKey: process.env.MEMORY_SERVICE_API_KEY,
  tenant: process.env.MEMORY_SERVICE_TENANT,
});

const runner = new Anthropic().beta.messages.toolRunner({
  model: 'claude-sonnet-5-5',
  max_tokens: 2048,
  tools: [memoryTool(memory)],
  messages: [{ role: 'user', content: process.argv[2] ?? 'I live in Lyon. Please remember that.' }],
});

for await (const { content } of runner) {
  for (const block of content) {
    if (block.type === 'text') console.log(block.text);
    if (block.type === 'tool_use') console.log('>', JSON.stringify(block.input));
  }
}
