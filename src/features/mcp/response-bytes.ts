import { fileJsonBytes, resultBytes } from '../../core/agents/result-bounds.ts';
import { isObject } from '../../core/lib/json.ts';
import type { MemoryLimits } from '../../core/memory/commands/memory-command.ts';

/** Returns the maximum response size for MCP messages, in bytes. */
export function mcpResponseBytes(body: unknown, limits: MemoryLimits): number {
  const messages = [body].flat();
  const count = (wanted: string) => messages.filter((message) => messageMethod(message) === wanted).length;
  const calls = count('tools/call') + LIST_VIEWS * count('resources/list');
  if (count('resources/read') === 0) return resultBytes(calls, limits);
  // The calls in a batch share one limit, which the last file may exceed.
  return fileJsonBytes(limits) + resultBytes(Array.isArray(body) ? MAX_CALLS : calls, limits);
}

/** Call count at which the results together have the maximum length. */
const MAX_CALLS = Number.MAX_SAFE_INTEGER;

/** The response contains a listed path twice: in the resource's name, and percent-encoded in its URI. */
const LIST_VIEWS = 2;

function messageMethod(message: unknown): unknown {
  return isObject(message) ? message.method : undefined;
}
