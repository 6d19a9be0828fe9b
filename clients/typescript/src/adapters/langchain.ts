/** For LangChain JS (`@langchain/anthropic`): `memory-service-client/langchain`. */
import { ToolMessage } from '@langchain/core/messages';
import type { MemoryClient } from '../client.ts';
import type { MemoryInput } from '../types.ts';
import { inOrder } from './in-order.ts';

/** What LangChain gives a tool besides its input, as far as it matters here. */
export interface ToolConfig {
  /** The model's call as it was, when the tool was invoked with a whole call. */
  toolCall?: { id?: string | undefined; args: unknown } | undefined;
  signal?: AbortSignal | undefined;
}

/**
 * The `execute` of `tools.memory_20250818({ execute: memoryExecute(memory) })`. Its calls run one after the other, so make
 * one for each conversation: it costs nothing.
 *
 * A failure that the model can put right comes back as a `ToolMessage` with `status: 'error'` and the documented string.
 * LangChain sends the string but not the flag: it has no `is_error` (as of `@langchain/anthropic` 1.5). When the service
 * gives no result it throws a `MemoryServiceError`.
 */
export function memoryExecute(
  client: Pick<MemoryClient, 'execute'>,
): (input: MemoryInput, config?: ToolConfig) => Promise<string> {
  const enqueue = inOrder();
  return (parsed, { toolCall, signal } = {}) =>
    enqueue(async () => {
      const id = toolCall?.id;
      if (toolCall === undefined || id === undefined) {
        return (await client.execute(parsed, { signal })).content;
      }
      // What LangChain has parsed lacks fields that its schema does not know, `view_range` among them.
      const block = { type: 'tool_use', id, name: 'memory', input: toolCall.args } as const;
      const { content, is_error } = await client.execute(block, { signal });
      if (!is_error) return content;
      const failure: unknown = new ToolMessage({
        content,
        tool_call_id: id,
        name: 'memory',
        status: 'error',
      });
      // LangChain takes a whole message from any tool; only the type of `execute` knows nothing of it.
      return failure as string;
    });
}
