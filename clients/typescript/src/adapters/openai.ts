/** Adapter for APIs that are compatible with OpenAI's: `memory-service-client/openai`. */
import type { MemoryClient } from '../client.ts';
import { MEMORY_FUNCTION_TOOL } from '../memory-tool.ts';
import { MEMORY_SEARCH_TOOL } from '../search-tool.ts';
import type { MemoryResult } from '../types.ts';

/** A call in a message of the Chat Completions API. */
export interface ChatToolCall {
  id?: string | undefined;
  type: string;
  function?: { name: string; arguments: unknown } | undefined;
}

/** A call in the output of the Responses API. */
export interface ResponseItem {
  type: string;
  call_id?: string | undefined;
  name?: string | undefined;
  arguments?: unknown;
}

export interface RunOptions {
  /**
   * ID of the conversation. APIs that number the calls of each conversation (`call_0`) need it, because an ID that was
   * used for another write is rejected.
   */
  conversation?: string | undefined;
  signal?: AbortSignal | undefined;
}

const TOOLS = [MEMORY_FUNCTION_TOOL, MEMORY_SEARCH_TOOL];
const NAMES: ReadonlySet<unknown> = new Set(TOOLS.map(({ name }) => name));

/** The tools `memory` and `memory_search` for the `tools` of the Chat Completions API. */
export const CHAT_TOOLS = TOOLS.map(({ name, description, input_schema: parameters }) => ({
  type: 'function' as const,
  function: { name, description, parameters },
}));

/** The tools `memory` and `memory_search` for the `tools` of the Responses API. */
export const RESPONSES_TOOLS = TOOLS.map(({ name, description, input_schema: parameters }) => ({
  type: 'function' as const,
  name,
  description,
  parameters,
  strict: false,
}));

/**
 * Executes all calls of the tools `memory` and `memory_search` in a message of the Chat Completions API, one after the
 * other. Calls of other tools are ignored.
 *
 * @returns a `tool` message for each call, in the same order
 * @throws MemoryServiceError when a call gets no result. Running the same message again is safe, because each call is
 *   applied once under its ID.
 */
export async function runToolCalls(
  client: Pick<MemoryClient, 'execute'>,
  message: { tool_calls?: readonly ChatToolCall[] | null | undefined },
  options: RunOptions = {},
): Promise<{ role: 'tool'; tool_call_id: string; content: string }[]> {
  const results: Awaited<ReturnType<typeof runToolCalls>> = [];
  for (const { id = '', function: called } of message.tool_calls ?? []) {
    if (called === undefined || !NAMES.has(called.name)) continue;
    const { content } = await runCall(client, { id, name: called.name, given: called.arguments }, options);
    results.push({ role: 'tool', tool_call_id: id, content });
  }
  return results;
}

/**
 * Executes all calls of the tools `memory` and `memory_search` in the output of the Responses API, like `runToolCalls`.
 *
 * @returns a `function_call_output` item for each call, in the same order
 */
export async function runFunctionCalls(
  client: Pick<MemoryClient, 'execute'>,
  output: readonly ResponseItem[],
  options: RunOptions = {},
): Promise<{ type: 'function_call_output'; call_id: string; output: string }[]> {
  const results: Awaited<ReturnType<typeof runFunctionCalls>> = [];
  for (const { type, call_id = '', name = '', arguments: given } of output) {
    if (type !== 'function_call' || !NAMES.has(name)) continue;
    const { content } = await runCall(client, { id: call_id, name, given }, options);
    results.push({ type: 'function_call_output', call_id, output: content });
  }
  return results;
}

async function runCall(
  client: Pick<MemoryClient, 'execute'>,
  { id, name, given }: { id: string; name: string; given: unknown },
  { conversation, signal }: RunOptions,
): Promise<MemoryResult> {
  const input = parseArguments(given);
  if (input === undefined) {
    const content = `Error: Invalid input for ${name}: the arguments are not valid JSON. Send the call again with a JSON object.`;
    return { content, is_error: true };
  }
  const unique = id === '' ? crypto.randomUUID() : id;
  const block = {
    type: 'tool_use',
    id: [conversation, unique].filter(Boolean).join(':'),
    name,
    input,
  } as const;
  return client.execute(block, { signal });
}

/** Parses arguments, which are a JSON text or, for some APIs, an object. Returns undefined for any other text. */
function parseArguments(given: unknown): unknown {
  if (typeof given !== 'string') return given ?? {};
  // Some APIs send an empty text for a call without arguments.
  if (given.trim() === '') return {};
  try {
    return JSON.parse(given);
  } catch {
    return undefined;
  }
}
