/** For a tool loop of your own on the Messages API. */
import type { MemoryClient } from '../client.ts';
import { MEMORY_SEARCH_TOOL } from '../search-tool.ts';
import type { ToolResultBlock, ToolUseBlock } from '../types.ts';

/** An assistant message, as far as it matters here: any of the SDK's, or the JSON of the API. */
export interface AssistantMessage {
  readonly content: string | readonly { readonly type: string }[];
}

/**
 * Executes every call of the tools `memory` and `memory_search` in an assistant message, one after the other in the
 * order in which the model wrote them. Blocks of other tools are left to the caller.
 *
 * @returns a `tool_result` block for each, in the same order; empty when there are none
 * @throws MemoryServiceError when a call gets no result. Earlier calls of the message are kept. Running the same
 * message again is safe, because each call is applied once under the ID of its block.
 */
export async function runMemoryTools(
  client: Pick<MemoryClient, 'execute'>,
  message: AssistantMessage,
  options: { signal?: AbortSignal | undefined } = {},
): Promise<ToolResultBlock[]> {
  const results: ToolResultBlock[] = [];
  if (typeof message.content === 'string') return results;
  for (const block of message.content) {
    if (isMemoryCall(block)) results.push(await client.execute(block, options));
  }
  return results;
}

const NAMES: ReadonlySet<unknown> = new Set(['memory', MEMORY_SEARCH_TOOL.name]);

function isMemoryCall(block: { readonly type: string }): block is ToolUseBlock {
  return block.type === 'tool_use' && 'name' in block && NAMES.has(block.name);
}
