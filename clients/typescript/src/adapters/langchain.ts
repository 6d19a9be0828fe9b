/** Adapter for LangChain JS (`@langchain/anthropic`): `memory-service-client/langchain`. */
import { ToolMessage } from '@langchain/core/messages';
import { type StructuredToolInterface, type ToolRunnableConfig, tool } from '@langchain/core/tools';
import type { MemoryClient } from '../client.ts';
import { MEMORY_SEARCH_TOOL, type MemorySearchInput } from '../search-tool.ts';
import type { MemoryInput } from '../types.ts';
import { createSerialRunner } from './in-order.ts';

/**
 * A schema for any object. LangChain's own schema of the tool drops `view_range` and rejects inputs that the service
 * accepts.
 */
const SCHEMA = { type: 'object', properties: {} } as const;

type LangChainTool<Input> = StructuredToolInterface<typeof SCHEMA, Input, string | ToolMessage>;

/**
 * Returns the memory tool for `bindTools` and for LangChain's agents, as a replacement for `tools.memory_20250818(…)`.
 * Its calls run one after the other, so create one for each conversation, at no cost.
 *
 * A failure that the model can correct is a `ToolMessage` with `status: 'error'` and the documented string. LangChain
 * sends the string but no `is_error` (as of `@langchain/anthropic` 1.5). A call without a result throws a
 * `MemoryServiceError`.
 */
export function memoryTool(client: Pick<MemoryClient, 'execute'>): LangChainTool<MemoryInput> {
  return memoryToolIn(createSerialRunner(), client);
}

/**
 * Returns the memory tool and `memory_search`. The calls of both run one after the other, so create them for each
 * conversation.
 */
export function memoryTools(
  client: Pick<MemoryClient, 'execute'>,
): LangChainTool<MemoryInput | MemorySearchInput>[] {
  const enqueue = createSerialRunner();
  const { name, description } = MEMORY_SEARCH_TOOL;
  const run = (input: unknown, { toolCall, signal }: ToolRunnableConfig) =>
    runBlock(client, { id: toolCall?.id ?? crypto.randomUUID(), name, input }, signal);
  const search = tool((input, config: ToolRunnableConfig) => enqueue(() => run(input, config)), {
    name,
    description,
    schema: SCHEMA,
    extras: { providerToolDefinition: MEMORY_SEARCH_TOOL },
  });
  return [memoryToolIn(enqueue, client), search];
}

function memoryToolIn(
  enqueue: ReturnType<typeof createSerialRunner>,
  client: Pick<MemoryClient, 'execute'>,
): LangChainTool<MemoryInput> {
  const run = async (input: MemoryInput, { toolCall, signal }: ToolRunnableConfig) => {
    const id = toolCall?.id;
    if (id === undefined) return (await client.execute(input, { signal })).content;
    return runBlock(client, { id, name: 'memory', input }, signal);
  };
  return tool((input, config: ToolRunnableConfig) => enqueue(() => run(input as MemoryInput, config)), {
    name: 'memory',
    schema: SCHEMA,
    extras: { providerToolDefinition: { type: 'memory_20250818', name: 'memory' } },
  });
}

async function runBlock(
  client: Pick<MemoryClient, 'execute'>,
  call: { id: string; name: string; input: unknown },
  signal: AbortSignal | undefined,
): Promise<string | ToolMessage> {
  const { content, is_error } = await client.execute({ type: 'tool_use', ...call }, { signal });
  if (!is_error) return content;
  return new ToolMessage({ content, tool_call_id: call.id, name: call.name, status: 'error' });
}
