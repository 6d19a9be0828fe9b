/* Bounds of responses that do not exist yet, for the bytes that a request reserves. */

import { isObject, MAX_JSON_BYTES_OF_UNIT } from '../lib/json.ts';
import type { MemoryLimits } from '../memory/commands/command.ts';

const MEBI = 1024 * 1024;
/** Once the results of a request are this many times `MAX_VIEW_CHARS` long, the remaining calls are not run. */
const MAX_RESULT_VIEWS = 4;
/** The same limit where `MAX_VIEW_CHARS` is higher, or is no limit. */
const MAX_RESULTS_CHARS = 4 * MEBI;
/** Commands with results of one line. */
const SHORT_COMMANDS: unknown[] = ['create', 'delete', 'insert', 'rename'];

/** Returns the length of results, in UTF-16 code units, after which a request runs no more calls. */
export function maxResultsChars({ maxViewChars }: MemoryLimits): number {
  return maxViewChars === 0
    ? MAX_RESULTS_CHARS
    : Math.min(MAX_RESULTS_CHARS, MAX_RESULT_VIEWS * maxViewChars);
}

/**
 * Returns the most bytes that results of so many calls have in JSON. A higher `MAX_VIEW_CHARS` than 1 Mi counts as 1
 * Mi.
 */
export function resultBytes(calls: number, limits: MemoryLimits): number {
  const { maxViewChars } = limits;
  const one = maxViewChars === 0 ? MEBI : Math.min(MEBI, maxViewChars);
  return MAX_JSON_BYTES_OF_UNIT * Math.min(calls * one, maxResultsChars(limits) + one);
}

/** Returns the most bytes that a file has in JSON. */
export function fileJsonBytes({ maxFileBytes }: MemoryLimits): number {
  return MAX_JSON_BYTES_OF_UNIT * (maxFileBytes === 0 ? MEBI : maxFileBytes);
}

/** Counts the calls in the body of `/execute` that may have a long result. */
export function countLongCalls(body: unknown): number {
  return [body].flat().filter((block) => !SHORT_COMMANDS.includes(commandOf(block))).length;
}

/** Returns the command of an input, or of a `tool_use` block. */
function commandOf(block: unknown): unknown {
  if (!isObject(block)) return undefined;
  const input = block.type === 'tool_use' ? block.input : block;
  return isObject(input) ? input.command : undefined;
}

/** Returns the most bytes that the response to messages of MCP has. */
export function mcpResponseBytes(body: unknown, limits: MemoryLimits): number {
  const messages = [body].flat();
  const count = (wanted: string) => messages.filter((message) => methodOf(message) === wanted).length;
  const reads = count('resources/read');
  // The calls of a batch, of which each reads one view of a file, have one limit together.
  const whole = Array.isArray(body) || reads === 0 ? 0 : fileJsonBytes(limits);
  const lists = count('resources/list');
  const calls = Array.isArray(body) ? reads + lists : lists;
  // A listed path appears in the address too, percent-encoded.
  return whole + resultBytes(count('tools/call') + LIST_VIEWS * calls, limits);
}

const LIST_VIEWS = 2;

function methodOf(message: unknown): unknown {
  return isObject(message) ? message.method : undefined;
}
