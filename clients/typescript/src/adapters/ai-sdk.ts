/** For the Vercel AI SDK (`ai` with `@ai-sdk/anthropic`): `memory-service-client/ai-sdk`. */
import type { MemoryClient } from '../client.ts';
import type { MemoryInput } from '../types.ts';
import { inOrder } from './in-order.ts';

/** What the AI SDK gives a tool besides its input, as far as it matters here. */
export interface ToolExecutionOptions {
  toolCallId: string;
  abortSignal?: AbortSignal | undefined;
}

/** A result that reports a failure. The AI SDK sends its message, which is the documented string, with `is_error: true`. */
export class MemoryToolError extends Error {
  override readonly name = 'MemoryToolError';
}

/**
 * The `execute` of `anthropic.tools.memory_20250818({ execute: memoryExecute(memory) })`. Its calls run one after the
 * other, so make one for each conversation: it costs nothing.
 *
 * It throws a `MemoryToolError` for a failure that the model can put right, and a `MemoryServiceError` when the service gives no
 * result; the AI SDK shows the message of either to the model.
 */
export function memoryExecute(
  client: Pick<MemoryClient, 'execute'>,
): (input: MemoryInput, options: ToolExecutionOptions) => Promise<string> {
  const enqueue = inOrder();
  return (input, { toolCallId: id, abortSignal: signal }) =>
    enqueue(async () => {
      const block = { type: 'tool_use', id, name: 'memory', input } as const;
      const { content, is_error } = await client.execute(block, { signal });
      if (is_error) throw new MemoryToolError(content);
      return content;
    });
}
