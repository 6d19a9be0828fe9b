import { ServiceError } from '../../errors.ts';
import { SEARCH_TOOL } from '../../search/input.ts';

/** The tools of the service, by the names that `tool_use` blocks have. */
export const tools = ['memory', SEARCH_TOOL] as const;

/** An input of a tool, and the id of the `tool_use` block when it came in one. */
export interface ToolCall {
  tool: (typeof tools)[number];
  input: Record<string, unknown>;
  toolUseId?: string;
}

/** How many `tool_use` blocks one request may hold. */
export const MAX_CALLS = 32;

/** In UTF-16 units. Those of the API (`toolu_…`) have some 30. */
export const MAX_ID_LENGTH = 255;

/**
 * Parses a body: a bare input, a whole `tool_use` block, or an array of such blocks.
 *
 * @returns one call, or an array of calls for an array
 * @throws ServiceError 400 for anything else, which is a mistake of the caller and not of the model
 */
export function readToolCalls(body: unknown): ToolCall | ToolCall[] {
  if (!Array.isArray(body)) return readToolCall(body);
  if (body.length === 0 || body.length > MAX_CALLS) {
    throw notAMemoryInput(
      `the array holds ${body.length} tool_use blocks, and 1 to ${MAX_CALLS} are allowed`,
    );
  }
  return body.map((block: unknown, i) => {
    if (!isObject(block) || block.type !== 'tool_use')
      throw notAMemoryInput(`item ${i} of the array is not a tool_use block`);
    return readToolUse(block);
  });
}

function readToolCall(body: unknown): ToolCall {
  if (!isObject(body)) throw notAMemoryInput('it is not a JSON object');
  if (body.type === 'tool_use') return readToolUse(body);
  if (!('command' in body)) throw notAMemoryInput('it has no `command`');
  return { tool: 'memory', input: body };
}

function readToolUse({ id, name, input }: Record<string, unknown>): ToolCall {
  if (typeof id !== 'string' || id === '') throw notAMemoryInput('the tool_use block has no `id`');
  if (id.length > MAX_ID_LENGTH) {
    throw notAMemoryInput(`the tool_use block's \`id\` is longer than ${MAX_ID_LENGTH} characters`);
  }
  const tool = tools.find((each) => each === name);
  if (tool === undefined) {
    throw notAMemoryInput(
      'the tool_use block is for another tool: its `name` is neither "memory" nor "memory_search"',
    );
  }
  if (!isObject(input)) throw notAMemoryInput("the tool_use block's `input` is not an object");
  return { tool, input, toolUseId: id };
}

export function notAMemoryInput(why: string): ServiceError {
  return new ServiceError('not_a_memory_input', why);
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
