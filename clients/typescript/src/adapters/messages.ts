import type { MemoryClient } from '../client.ts';
import { MEMORY_SEARCH_TOOL } from '../search-tool.ts';
import type { ToolResultBlock, ToolUseBlock } from '../types.ts';

/** An assistant message, as far as it is used here: from any SDK, or the JSON of the API. */
export interface AssistantMessage {
  readonly content: string | readonly { readonly type: string }[];
}

/**
 * Executes all calls of the tools `memory` and `memory_search` in an assistant message, one after the other in the
 * order of the message. Blocks of other tools are ignored.
 *
 * @returns a `tool_result` block for each call, in the same order; empty if there are no calls
 * @throws MemoryServiceError when a call gets no result. Earlier calls of the message remain applied. Running the same
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
