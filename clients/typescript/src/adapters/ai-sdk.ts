/** Adapter for the Vercel AI SDK (`ai` with `@ai-sdk/anthropic`): `memory-service-client/ai-sdk`. */
import type { MemoryClient } from '../client.ts';
import { MemoryServiceError } from '../errors.ts';
import { MEMORY_SEARCH_TOOL } from '../search-tool.ts';
import type { MemoryInput } from '../types.ts';
import { createSerialRunner } from './in-order.ts';

/** Options that the AI SDK passes to a tool, as far as this adapter uses them. */
export interface ToolExecutionOptions {
  toolCallId: string;
  abortSignal?: AbortSignal | undefined;
}

/**
 * An error whose message is the text for the model. AI SDK 6 sends the `message` of an error, and 7 sends the result of
 * `toString()`, so both are the same here. The SDK sets `is_error: true`.
 */
export class MemoryToolError extends Error {
  override readonly name = 'MemoryToolError';

  override toString(): string {
    return this.message;
  }
}

/**
 * Returns the `execute` of `anthropic.tools.memory_20250818({ execute: memoryExecute(memory) })`. Its calls run one
 * after the other, so create one for each conversation, at no cost.
 *
 * It throws a `MemoryToolError` for a failure that the model can correct, and for a call without a result. In the
 * second case, the `cause` is the `MemoryServiceError`.
 */
export function memoryExecute(client: Pick<MemoryClient, 'execute'>): Execute<MemoryInput> {
  return executeIn(createSerialRunner(), client, 'memory');
}

type Execute<Input> = (input: Input, options: ToolExecutionOptions) => Promise<string>;

// biome-ignore lint/suspicious/noExplicitAny: these types differ between the versions of the AI SDK.
type Any = any;

/** The parts of the AI SDK that `memoryTools` needs: the provider of `@ai-sdk/anthropic`, and `jsonSchema` of `ai`. */
export interface AiSdk {
  anthropic: { tools: { memory_20250818: (options: Any) => Any } };
  jsonSchema: (schema: Any) => Any;
}

/**
 * Returns the memory tool and `memory_search`: `tools: { ...memoryTools(memory, { anthropic, jsonSchema }) }`. The
 * calls of both run one after the other, so create them for each conversation.
 */
export function memoryTools<Sdk extends AiSdk>(
  client: Pick<MemoryClient, 'execute'>,
  { anthropic, jsonSchema }: Sdk,
): {
  memory: ReturnType<Sdk['anthropic']['tools']['memory_20250818']>;
  memory_search: {
    description: string;
    inputSchema: ReturnType<Sdk['jsonSchema']>;
    execute: Execute<unknown>;
  };
} {
  const enqueue = createSerialRunner();
  const { name, description, input_schema } = MEMORY_SEARCH_TOOL;
  return {
    memory: anthropic.tools.memory_20250818({ execute: executeIn(enqueue, client, 'memory') }),
    memory_search: {
      description,
      inputSchema: jsonSchema(input_schema),
      execute: executeIn(enqueue, client, name),
    },
  };
}

function executeIn<Input>(
  enqueue: ReturnType<typeof createSerialRunner>,
  client: Pick<MemoryClient, 'execute'>,
  name: string,
): Execute<Input> {
  return (input, { toolCallId: id, abortSignal: signal }) =>
    enqueue(async () => {
      const block = { type: 'tool_use', id, name, input } as const;
      const { content, is_error } = await client.execute(block, { signal }).catch((cause: unknown) => {
        throw cause instanceof MemoryServiceError ? new MemoryToolError(cause.message, { cause }) : cause;
      });
      if (is_error) throw new MemoryToolError(content);
      return content;
    });
}
