/** For the Vercel AI SDK (`ai` with `@ai-sdk/anthropic`): `memory-service-client/ai-sdk`. */
import type { MemoryClient } from '../client.ts';
import { MemoryServiceError } from '../errors.ts';
import type { MemoryInput } from '../types.ts';
import { inOrder } from './in-order.ts';

/** What the AI SDK gives a tool besides its input, as far as it matters here. */
export interface ToolExecutionOptions {
  toolCallId: string;
  abortSignal?: AbortSignal | undefined;
}

/**
 * What the model reads in the place of a result. AI SDK 6 sends the `message` of an error, and 7 what `toString()` returns: here they are
 * the same. The SDK sets `is_error: true`.
 */
export class MemoryToolError extends Error {
  override readonly name = 'MemoryToolError';

  override toString(): string {
    return this.message;
  }
}

/**
 * The `execute` of `anthropic.tools.memory_20250818({ execute: memoryExecute(memory) })`. Its calls run one after the
 * other, so make one for each conversation: it costs nothing.
 *
 * It throws a `MemoryToolError` for a failure that the model can correct, and when the service gives no result: then its `cause` is the
 * `MemoryServiceError`.
 */
export function memoryExecute(
  client: Pick<MemoryClient, 'execute'>,
): (input: MemoryInput, options: ToolExecutionOptions) => Promise<string> {
  const enqueue = inOrder();
  return (input, { toolCallId: id, abortSignal: signal }) =>
    enqueue(async () => {
      const block = { type: 'tool_use', id, name: 'memory', input } as const;
      const { content, is_error } = await client.execute(block, { signal }).catch((cause: unknown) => {
        throw cause instanceof MemoryServiceError ? new MemoryToolError(cause.message, { cause }) : cause;
      });
      if (is_error) throw new MemoryToolError(content);
      return content;
    });
}
