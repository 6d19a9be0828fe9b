import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';

/** Claude Code sends the id of the `tool_use` block that a call comes from. */
const TOOL_USE_ID = 'claudecode/toolUseId';
/** The longest id that the service accepts. */
const MAX_ID_LENGTH = 255;

/** A call in the form of a `tool_use` block. Sent again under the same id, it is applied once. */
export interface ToolUse {
  id: string;
  /** The tool. */
  name: string;
  input: unknown;
}

/** A failure that the model can correct is a result too. */
export interface ToolResult {
  content: string;
  isError: boolean;
}

/** Executes a call. Whatever is wrong with its input is for the result to say, in words for the model. */
export type ExecuteTool = (call: ToolUse, signal?: AbortSignal) => Promise<ToolResult>;

interface Call {
  name: string;
  input: unknown;
  meta: Record<string, unknown> | undefined;
  signal: AbortSignal;
}

export async function callTool(
  execute: ExecuteTool,
  { name, input = {}, meta, signal }: Call,
): Promise<CallToolResult> {
  const { content, isError } = await execute({ id: callId(meta), name, input }, signal);
  return { content: [{ type: 'text', text: content }], isError };
}

/** The memory tool, for what reads files. */
export function callMemory(execute: ExecuteTool, input: object): Promise<ToolResult> {
  return execute({ id: newId(), name: 'memory', input });
}

function callId(meta: Record<string, unknown> | undefined): string {
  const id = meta?.[TOOL_USE_ID];
  const isUsable = typeof id === 'string' && id !== '' && id.length <= MAX_ID_LENGTH && id.isWellFormed();
  return isUsable ? id : newId();
}

function newId(): string {
  return `mcp_${crypto.randomUUID()}`;
}
