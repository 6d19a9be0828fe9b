/**
 * Two agents with separate memories and one shared memory. Each agent runs Claude in a custom loop:
 *
 *   memory-service tenants create builder && memory-service tenants create reviewer && memory-service tenants create team
 *   memory-service tenants mount builder team --name team --access read_write --instructions 'What all of us have learned.'
 *   memory-service tenants mount reviewer team --name team --instructions 'What all of us have learned.'
 *   export MEMORY_SERVICE_URL=http://localhost:8080 BUILDER_KEY=msk_… REVIEWER_KEY=msk_… ANTHROPIC_API_KEY=…
 *   npx tsx examples/two-agents.ts
 */
import Anthropic from '@anthropic-ai/sdk';
import { MemoryClient, runMemoryTools } from 'memory-service-client';

const url = process.env.MEMORY_SERVICE_URL ?? 'http://localhost:8080';
const anthropic = new Anthropic();

/** Runs an agent until the model stops calling tools. */
async function runAgent(name: string, apiKey: string | undefined, task: string): Promise<void> {
  const memory = new MemoryClient({ url, apiKey });
  // Describes the mounted directories and their purposes. The API itself adds the memory protocol.
  const system = await memory.instructions({ protocol: false });
  const messages: Anthropic.Beta.BetaMessageParam[] = [{ role: 'user', content: task }];
  for (;;) {
    const answer = await anthropic.beta.messages.create({
      model: 'claude-sonnet-5-5',
      max_tokens: 2048,
      system,
      tools: [{ type: 'memory_20250818', name: 'memory' }],
      messages,
    });
    messages.push({ role: 'assistant', content: answer.content });
    for (const block of answer.content) {
      if (block.type === 'text') console.log(`${name}: ${block.text}`);
      if (block.type === 'tool_use') console.log(`${name} > ${JSON.stringify(block.input)}`);
    }
    if (answer.stop_reason !== 'tool_use') return;
    const results = await runMemoryTools(memory, answer);
    for (const { content } of results) console.log(`${name} < ${content}`);
    messages.push({ role: 'user', content: results });
  }
}

await runAgent(
  'builder',
  process.env.BUILDER_KEY,
  'The build failed because port 5432 was taken. Note for the team that tests use port 5433.',
);
await runAgent(
  'reviewer',
  process.env.REVIEWER_KEY,
  'Which port do the tests use? Correct the note to 5434 if you can.',
);
