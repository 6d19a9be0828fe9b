import { fileJsonBytes, resultBytes } from '../../core/agents/result-bounds.ts';
import { isObject } from '../../core/lib/json.ts';
import type { MemoryLimits } from '../../core/memory/commands/memory-command.ts';
import { parseUri } from './resource-uri.ts';

/** Returns the maximum response size for MCP messages, in bytes. */
export function mcpResponseBytes(body: unknown, limits: MemoryLimits): number {
  const messages = [body].flat();
  const count = (wanted: string) => messages.filter((message) => messageMethod(message) === wanted).length;
  const files = messages.filter(isFileRead).length;
  const texts = count('prompts/get') + count('resources/read') - files;
  const textBytes = texts * resultBytes(TEXT_VIEWS, limits);
  const calls = count('tools/call') + LIST_VIEWS * count('resources/list');
  if (files === 0) return textBytes + resultBytes(calls, limits);
  // The calls in a batch share one limit, which the last file may exceed.
  return textBytes + fileJsonBytes(limits) + resultBytes(Array.isArray(body) ? MAX_CALLS : calls, limits);
}

/** Call count at which the results together have the maximum length. */
const MAX_CALLS = Number.MAX_SAFE_INTEGER;

/** The response contains a listed path twice: in the resource's name, and percent-encoded in its URI. */
const LIST_VIEWS = 2;
/** A prompt, or a resource other than a file, is at most as long as guidance and a view. */
const TEXT_VIEWS = 2;

function isFileRead(message: unknown): boolean {
  if (!isObject(message) || message.method !== 'resources/read') return false;
  return isObject(message.params) && parseUri(message.params.uri) !== undefined;
}

function messageMethod(message: unknown): unknown {
  return isObject(message) ? message.method : undefined;
}
