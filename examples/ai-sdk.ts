/**
 * Claude with shared memory, through the Vercel AI SDK:
 *
 *   export MEMORY_SERVICE_URL=http://localhost:8080 MEMORY_SERVICE_API_KEY=msk_… ANTHROPIC_API_KEY=…
 *   npx tsx examples/ai-sdk.ts "I live in Lyon."
 */
import { anthropic } from '@ai-sdk/anthropic';
import { generateText, stepCountIs } from 'ai';
import { MemoryClient } from 'memory-service-client';
import { memoryExecute } from 'memory-service-client/ai-sdk';

const memory = new MemoryClient({
  url: process.env.MEMORY_SERVICE_URL ?? 'http://localhost:8080',
  apiKey: process.env.MEMORY_SERVICE_API_KEY,
  tenant: process.env.MEMORY_SERVICE_TENANT,
});

const { text } = await generateText({
  model: anthropic('claude-sonnet-5-5'),
  tools: { memory: anthropic.tools.memory_20250818({ execute: memoryExecute(memory) }) },
  stopWhen: stepCountIs(20),
  prompt: process.argv[2] ?? 'I live in Lyon. Please remember that.',
  onStepFinish: ({ toolCalls }) => {
    for (const { input } of toolCalls) console.log('>', JSON.stringify(input));
  },
});
console.log(text);
