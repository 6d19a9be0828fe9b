/* Maximum response sizes, which a request reserves before its response exists. */

import { isObject, MAX_JSON_BYTES_OF_UNIT } from '../lib/json.ts';
import type { MemoryLimits } from '../memory/commands/memory-command.ts';

const MEBI = 1024 * 1024;
/** A request skips its remaining calls when its results have this many times the length in `MAX_VIEW_CHARS`. */
const MAX_RESULT_VIEWS = 4;
/** Maximum length for the results if `MAX_VIEW_CHARS` is higher or unlimited. */
const MAX_RESULTS_CHARS = 4 * MEBI;
/** Commands with a one-line result. */
const SHORT_COMMANDS = new Set<unknown>(['create', 'delete', 'insert', 'rename']);

/** Returns the results' length, in UTF-16 code units, after which a request skips its remaining calls. */
export function maxResultsChars({ maxViewChars }: MemoryLimits): number {
  return maxViewChars === 0
    ? MAX_RESULTS_CHARS
    : Math.min(MAX_RESULTS_CHARS, MAX_RESULT_VIEWS * maxViewChars);
}

/** Returns the results' maximum size in JSON for this many calls. A `MAX_VIEW_CHARS` above 1 Mi counts as 1 Mi. */
export function resultBytes(calls: number, limits: MemoryLimits): number {
  const { maxViewChars } = limits;
  const one = maxViewChars === 0 ? MEBI : Math.min(MEBI, maxViewChars);
  return MAX_JSON_BYTES_OF_UNIT * Math.min(calls * one, maxResultsChars(limits) + one);
}

/** Returns a file's maximum size in JSON, in bytes. */
export function fileJsonBytes({ maxFileBytes }: MemoryLimits): number {
  return MAX_JSON_BYTES_OF_UNIT * (maxFileBytes === 0 ? MEBI : maxFileBytes);
}

/** Returns the number of calls in a `/execute` body that may have a long result. */
export function countLongCalls(body: unknown): number {
  if (!Array.isArray(body)) return isLong(body) ? 1 : 0;
  return body.filter(isLong).length;
}

function isLong(block: unknown): boolean {
  if (!isObject(block)) return true;
  const input = block.type === 'tool_use' ? block.input : block;
  return !isObject(input) || !SHORT_COMMANDS.has(input.command);
}
