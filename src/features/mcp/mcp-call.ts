import type { CallToolResult } from '@modelcontextprotocol/server';
import type { CallerTrace } from '../../core/http/tracing.ts';

/** Metadata field in which Claude Code sends the ID from the call's `tool_use` block. */
const TOOL_USE_ID = 'claudecode/toolUseId';
/** Maximum ID length that the service accepts. */
const MAX_ID_LENGTH = 255;

/** A call as a `tool_use` block. A call that is sent again with the same ID is applied once. */
export interface ToolUse {
  id: string;
  name: string;
  input: unknown;
  /** The trace context in the call's metadata. */
  trace?: CallerTrace | undefined;
}

/** A call's result. A failure that the model can correct is also a result. */
export interface ToolResult {
  content: string;
  isError: boolean;
}

/** Executes a call. Invalid input produces a result with a message for the model. */
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
  const { content, isError } = await execute(
    { id: callId(meta), name, input, trace: toCallerTrace(meta) },
    signal,
  );
  return { content: [{ type: 'text', text: content }], isError };
}

function callId(meta: Record<string, unknown> | undefined): string {
  const id = meta?.[TOOL_USE_ID];
  const isUsable = typeof id === 'string' && id !== '' && id.length <= MAX_ID_LENGTH && id.isWellFormed();
  return isUsable ? id : newId();
}

/**
 * Returns a call's trace context. Hosts send the context in the metadata, because one connection carries many traces.
 */
function toCallerTrace(meta: Record<string, unknown> | undefined): CallerTrace | undefined {
  const { traceparent, tracestate } = meta ?? {};
  if (typeof traceparent !== 'string') return undefined;
  return { traceparent, ...(typeof tracestate === 'string' && { tracestate }) };
}

function newId(): string {
  return `mcp_${crypto.randomUUID()}`;
}
