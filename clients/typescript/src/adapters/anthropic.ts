/** Adapter for the tool runner of `@anthropic-ai/sdk`: `memory-service-client/anthropic`. */
import type { BetaRunnableTool } from '@anthropic-ai/sdk/lib/tools/BetaRunnableTool';
import { ToolError } from '@anthropic-ai/sdk/lib/tools/ToolError';
import type { BetaMemoryTool20250818 } from '@anthropic-ai/sdk/resources/beta/messages';
import type { MemoryClient } from '../client.ts';
import { MEMORY_SEARCH_TOOL, type MemorySearchInput } from '../search-tool.ts';
import type { MemoryInput, MemoryResult } from '../types.ts';
import { createSerialRunner } from './in-order.ts';

// The SDK's own class, because the runner recognizes a result with a failure only by this class.

/**
 * Returns the memory tool for `client.beta.messages.toolRunner({ tools: [memoryTool(memory)], … })`, as a replacement
 * for the SDK's `betaMemoryTool(…)`. Its calls run one after the other, so create one for each conversation, at no
 * cost.
 *
 * The model reads the documented strings verbatim, with `is_error: true` for failures. For a call without a result, the
 * runner shows `Error: ` and the message of the `MemoryServiceError` to the model, and the conversation continues.
 *
 * @param definition further fields of the tool's definition, such as `cache_control`
 */
export function memoryTool(
  client: Pick<MemoryClient, 'execute'>,
  definition: Omit<BetaMemoryTool20250818, 'type' | 'name'> = {},
): BetaRunnableTool<MemoryInput> {
  return memoryToolIn(createSerialRunner(), client, definition);
}

/**
 * Returns the memory tool and `memory_search`: `tools: [...memoryTools(memory), …]`. The calls of both run one after
 * the other, so create them for each conversation.
 */
export function memoryTools(
  client: Pick<MemoryClient, 'execute'>,
): [memory: BetaRunnableTool<MemoryInput>, search: BetaRunnableTool<MemorySearchInput>] {
  const enqueue = createSerialRunner();
  const search: BetaRunnableTool<MemorySearchInput> = {
    ...MEMORY_SEARCH_TOOL,
    parse: (input) => input as MemorySearchInput,
    run: (input, context) =>
      enqueue(async () => {
        const id = context?.toolUse.id ?? crypto.randomUUID();
        const block = { type: 'tool_use', id, name: MEMORY_SEARCH_TOOL.name, input } as const;
        return requireContent(await client.execute(block, { signal: context?.signal }));
      }),
  };
  return [memoryToolIn(enqueue, client, {}), search];
}

function memoryToolIn(
  enqueue: ReturnType<typeof createSerialRunner>,
  client: Pick<MemoryClient, 'execute'>,
  definition: Omit<BetaMemoryTool20250818, 'type' | 'name'>,
): BetaRunnableTool<MemoryInput> {
  return {
    ...definition,
    type: 'memory_20250818',
    name: 'memory',
    // Any input of the model is sent to the service, which explains its errors to the model.
    parse: (input) => input as MemoryInput,
    run: (input, context) =>
      enqueue(async () => {
        const id = context?.toolUse.id;
        const options = { signal: context?.signal };
        return requireContent(
          id === undefined
            ? await client.execute(input, options)
            : await client.execute({ type: 'tool_use', id, name: 'memory', input }, options),
        );
      }),
  };
}

function requireContent({ content, is_error }: MemoryResult): string {
  if (is_error) throw new ToolError(content);
  return content;
}
