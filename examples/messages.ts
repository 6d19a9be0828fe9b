/**
 * Claude with shared memory, in a custom loop on the Messages API:
 *
 *   export MEMORY_SERVICE_URL=http://localhost:8080 MEMORY_SERVICE_API_KEY=msk_… ANTHROPIC_API_KEY=…
 *   npx tsx examples/messages.ts "I live in Lyon."
 */
import Anthropic from '@anthropic-ai/sdk';
import { MemoryClient, runMemoryTools } from 'memory-service-client';

const memory = new MemoryClient({
  url: process.env.MEMORY_SERVICE_URL ?? 'http://localhost:8080',
  apiKey: process.env.MEMORY_SERVICE_API_KEY,
  tenant: process.env.MEMORY_SERVICE_TENANT,
});
const anthropic = new Anthropic();

const messages: Anthropic.Beta.BetaMessageParam[] = [
  { role: 'user', content: process.argv[2] ?? 'I live in Lyon. Please remember that.' },
];
for (;;) {
  const answer = await anthropic.beta.messages.create({
    model: 'claude-sonnet-5-5',
    max_tokens: 2048,
    tools: [{ type: 'memory_20250818', name: 'memory' }],
    messages,
  });
  messages.push({ role: 'assistant', content: answer.content });
  for (const block of answer.content) {
    if (block.type === 'text') console.log(block.text);
    if (block.type === 'tool_use') console.log('>', JSON.stringify(block.input));
  }
  if (answer.stop_reason !== 'tool_use') break;
  messages.push({ role: 'user', content: await runMemoryTools(memory, answer) });
}
