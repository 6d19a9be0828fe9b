import {
  type Attributes,
  type Context,
  type ContextManager,
  type Span,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { ServiceError } from '../errors.ts';
import type { CommandDetails, CommandTrace, RequestDetails, RequestTrace } from './tracing.ts';

export interface SpanSource {
  tracer: Tracer;
  contexts: ContextManager;
}

/** The tenant. GenAI conventions: what holds the memory that an operation is about. */
const STORE_ID = 'gen_ai.memory.store.id';

/** The commands as operations of the GenAI conventions, which have no other one that reads, and none that moves. */
const OPERATIONS = new Map([
  ['view', 'search_memory'],
  ['memory_search', 'search_memory'],
  ['create', 'create_memory'],
  ['str_replace', 'update_memory'],
  ['insert', 'update_memory'],
  ['delete', 'delete_memory'],
  ['rename', 'update_memory'],
]);

/**
 * Starts the span of a request (HTTP conventions): neither a query nor a path, which callers choose, is part of it.
 *
 * @param caller what the headers say of the caller's span
 */
export function startRequest(source: SpanSource, request: RequestDetails, caller: Context): RequestTrace {
  const { id, method, route, scheme } = request;
  const attributes = {
    'http.request.method': method,
    'http.route': route,
    'url.path': route,
    'url.scheme': scheme,
    'http.response.header.x-request-id': [id],
  };
  const span = source.tracer.startSpan(`${method} ${route}`, { kind: SpanKind.SERVER, attributes }, caller);
  const context = trace.setSpan(caller, span);
  return {
    traceId: span.spanContext().traceId,
    within: (work) => source.contexts.with(context, work),
    startCommand: (call) => startCommand(source, call, context),
    end: ({ status, tenant, outcome }) => {
      span.setAttribute('http.response.status_code', status);
      if (tenant !== undefined) span.setAttribute(STORE_ID, tenant);
      // A refusal is the caller's error, and not one of this span.
      if (status >= 500) fail(span, outcome ?? String(status));
      span.end();
    },
  };
}

/**
 * Starts the spans of a command (GenAI conventions): one for the execution of the tool, and in it one for the operation on the memory.
 * They hold no record's id: that would be the path.
 */
function startCommand({ tracer, contexts }: SpanSource, call: CommandDetails, parent: Context): CommandTrace {
  const { tool: toolName, command, createExisting, tenant, toolUseId } = call;
  const tool = tracer.startSpan(
    `execute_tool ${toolName}`,
    {
      attributes: {
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': toolName,
        'gen_ai.tool.type': 'function',
        [STORE_ID]: tenant,
        'memory_service.command': command,
        ...(toolUseId === undefined ? {} : { 'gen_ai.tool.call.id': toolUseId }),
      },
    },
    parent,
  );
  const spans = [tool];
  let context = trace.setSpan(parent, tool);
  const isUpsert = command === 'create' && createExisting === 'overwrite';
  const operation = isUpsert ? 'upsert_memory' : OPERATIONS.get(command);
  if (operation !== undefined) {
    const attributes: Attributes = { 'gen_ai.operation.name': operation, [STORE_ID]: tenant };
    const span = tracer.startSpan(operation, { attributes }, context);
    spans.unshift(span);
    context = trace.setSpan(context, span);
  }
  return {
    exemplar: exemplarOf(tool),
    run: async (work) => {
      try {
        const result = await contexts.with(context, work);
        // As the conventions for MCP have it, where a tool's failure is a result too.
        if (result.isError) for (const span of spans) fail(span, 'tool_error');
        return result;
      } catch (error) {
        for (const span of spans) fail(span, errorType(error));
        throw error;
      } finally {
        for (const span of spans) span.end();
      }
    },
  };
}

/** Marks a span as failed. A message could hold a path or content, so there is none. */
export function fail(span: Span, type: string): void {
  span.setAttribute('error.type', type);
  span.setStatus({ code: SpanStatusCode.ERROR });
}

/** A problem's code, else the name of the error. */
function errorType(error: unknown): string {
  if (error instanceof ServiceError) return error.code;
  return error instanceof Error ? error.name : '_OTHER';
}

function exemplarOf(span: Span): CommandTrace['exemplar'] {
  const { traceId, spanId, traceFlags } = span.spanContext();
  return traceFlags & TraceFlags.SAMPLED ? { trace_id: traceId, span_id: spanId } : undefined;
}
