/** For the tool runner of `@anthropic-ai/sdk`: `memory-service-client/anthropic`. */
import type { BetaRunnableTool } from '@anthropic-ai/sdk/lib/tools/BetaRunnableTool';
// The SDK's own class: its runner knows no other way to tell a result that reports a failure from a fault.
import { ToolError } from '@anthropic-ai/sdk/lib/tools/ToolError';
import type { BetaMemoryTool20250818 } from '@anthropic-ai/sdk/resources/beta/messages';
import type { MemoryClient } from '../client.ts';
import type { MemoryInput } from '../types.ts';
import { inOrder } from './in-order.ts';

/**
 * The memory tool for `client.beta.messages.toolRunner({ tools: [memoryTool(memory)], … })`, in the place of the SDK's
 * `betaMemoryTool(…)`. Its calls run one after the other, so make one for each conversation: it costs nothing.
 *
 * The model reads the documented strings verbatim, failures with `is_error: true`. When the service gives no result, the
 * runner shows the model `Error: ` and the message of the `MemoryServiceError`, and the conversation goes on.
 *
 * @param definition more of the tool's definition, such as `cache_control`
 */
export function memoryTool(
  client: Pick<MemoryClient, 'execute'>,
  definition: Omit<BetaMemoryTool20250818, 'type' | 'name'> = {},
): BetaRunnableTool<MemoryInput> {
  const enqueue = inOrder();
  return {
    ...definition,
    type: 'memory_20250818',
    name: 'memory',
    // Whatever the model wrote goes to the service, which says what is wrong with it in words for the model.
    parse: (input) => input as MemoryInput,
    run: (input, context) =>
      enqueue(async () => {
        const id = context?.toolUse.id;
        const options = { signal: context?.signal };
        const { content, is_error } =
          id === undefined
            ? await client.execute(input, options)
            : await client.execute({ type: 'tool_use', id, name: 'memory', input }, options);
        if (is_error) throw new ToolError(content);
        return content;
      }),
  };
}
