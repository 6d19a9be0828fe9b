import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { type MemoryClient, MemoryServiceError } from 'memory-service-client';
import { nameSettings } from './settings.ts';

/** Claude Code sends the id of the `tool_use` block that a call comes from. */
const TOOL_USE_ID = 'claudecode/toolUseId';
/** The longest id that the service accepts. */
const MAX_ID_LENGTH = 255;

export interface Call {
  /** The tool. */
  name: string;
  input: unknown;
  meta: Record<string, unknown> | undefined;
  signal: AbortSignal;
}

/**
 * Runs a call of the tool. The call goes to the service as a `tool_use` block: whatever is wrong with its input comes back in words for the
 * model, and a call that is sent again under the same id is applied once.
 */
export async function callMemory(
  client: MemoryClient,
  { name, input = {}, meta, signal }: Call,
): Promise<CallToolResult> {
  try {
    const block = { type: 'tool_use', id: callId(meta), name, input } as const;
    const { content, is_error } = await client.execute(block, { signal });
    return textResult(content, is_error);
  } catch (error) {
    if (!(error instanceof MemoryServiceError)) throw error;
    return textResult(`Error: ${nameSettings(error.message)}`, true);
  }
}

function callId(meta: Record<string, unknown> | undefined): string {
  const id = meta?.[TOOL_USE_ID];
  const isUsable = typeof id === 'string' && id !== '' && id.length <= MAX_ID_LENGTH;
  return isUsable ? id : `mcp_${crypto.randomUUID()}`;
}

function textResult(text: string, isError: boolean): CallToolResult {
  return { content: [{ type: 'text', text }], isError };
}
