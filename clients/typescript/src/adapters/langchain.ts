/** For LangChain JS (`@langchain/anthropic`): `memory-service-client/langchain`. */
import { ToolMessage } from '@langchain/core/messages';
import { type StructuredToolInterface, type ToolRunnableConfig, tool } from '@langchain/core/tools';
import type { MemoryClient } from '../client.ts';
import type { MemoryInput } from '../types.ts';
import { inOrder } from './in-order.ts';

/** Any object. LangChain's own schema of the tool drops `view_range` and refuses inputs that the service takes. */
const SCHEMA = { type: 'object', properties: {} } as const;

/**
 * The memory tool for `bindTools` and for LangChain's agents, in the place of `tools.memory_20250818(…)`. Its calls run one after the
 * other, so make one for each conversation: it costs nothing.
 *
 * A failure that the model can correct comes back as a `ToolMessage` with `status: 'error'` and the documented string.
 * LangChain sends the string but not the flag: it has no `is_error` (as of `@langchain/anthropic` 1.5). When the service
 * gives no result, it throws a `MemoryServiceError`.
 */
export function memoryTool(
  client: Pick<MemoryClient, 'execute'>,
): StructuredToolInterface<typeof SCHEMA, MemoryInput, string | ToolMessage> {
  const enqueue = inOrder();
  const run = async (input: MemoryInput, { toolCall, signal }: ToolRunnableConfig) => {
    const id = toolCall?.id;
    if (id === undefined) return (await client.execute(input, { signal })).content;
    const block = { type: 'tool_use', id, name: 'memory', input } as const;
    const { content, is_error } = await client.execute(block, { signal });
    return is_error
      ? new ToolMessage({ content, tool_call_id: id, name: 'memory', status: 'error' })
      : content;
  };
  return tool((input, config: ToolRunnableConfig) => enqueue(() => run(input as MemoryInput, config)), {
    name: 'memory',
    schema: SCHEMA,
    extras: { providerToolDefinition: { type: 'memory_20250818', name: 'memory' } },
  });
}
