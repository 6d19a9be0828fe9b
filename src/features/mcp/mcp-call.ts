import type { CallToolResult } from '@modelcontextprotocol/server';
import type { CallerTrace } from '../../core/http/tracing.ts';

/** Metadata field in which Claude Code sends the ID of the call's `tool_use` block. */
const TOOL_USE_ID = 'claudecode/toolUseId';
/** Maximum length of an ID that the service accepts. */
const MAX_ID_LENGTH = 255;

/** A call as a `tool_use` block. A call that is sent again with the same ID is applied once. */
export interface ToolUse {
  id: string;
  name: string;
  input: unknown;
  /** The trace context in the metadata of the call. */
  trace?: CallerTrace | undefined;
}

/** The result of a call. A failure that the model can correct is also a result. */
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

/** Returns the trace context of a call. Hosts send it in the metadata, because one connection carries many traces. */
function toCallerTrace(meta: Record<string, unknown> | undefined): CallerTrace | undefined {
  const { traceparent, tracestate } = meta ?? {};
  if (typeof traceparent !== 'string') return undefined;
  return { traceparent, ...(typeof tracestate === 'string' && { tracestate }) };
}

function newId(): string {
  return `mcp_${crypto.randomUUID()}`;
}
