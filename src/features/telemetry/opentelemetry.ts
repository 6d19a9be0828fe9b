import type { IncomingHttpHeaders } from 'node:http';
import {
  type Attributes,
  type Context,
  type ContextManager,
  createContextKey,
  defaultTextMapGetter,
  type Link,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type TextMapGetter,
  TraceFlags,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { BasicTracerProvider, BatchSpanProcessor, type SpanExporter } from '@opentelemetry/sdk-trace-base';
import type { Logger } from 'pino';
import type { Config } from '../../core/config.ts';
import { DatabaseError } from '../../core/database/database-errors.ts';
import type { StatementTracer } from '../../core/database/query.ts';
import { ServiceError } from '../../core/errors/errors.ts';
import type { RecordTracer } from '../../core/files/record-tracer.ts';
import type {
  CommandDetails,
  CommandTrace,
  OperationDetails,
  OperationSubject,
  OperationTrace,
  RequestDetails,
  RequestTrace,
  Tracing,
} from '../../core/http/tracing.ts';
import { version } from '../../core/lib/service-version.ts';
import { findCommand } from '../../core/memory/commands/index.ts';
import { createResource, protocolFor, stopInTime, withFaultReports } from './otlp.ts';
import { TracedMemory } from './traced-memory.ts';

/** Creates an exporter that sends spans to the collector with the configured protocol. */
export function createExporter(config: Config, endpoint: string, log: Logger): SpanExporter {
  const exporter =
    protocolFor('TRACES', config) === 'http/json' ? new JsonExporter() : new ProtobufExporter();
  return withFaultReports(exporter, { signal: 'traces', endpoint, log });
}

const propagator = new W3CTraceContextPropagator();

export interface SpanSource {
  tracer: Tracer;
  contexts: ContextManager;
}

/*
 * Attributes in the GenAI conventions 0.1.0 (docs/observability.md). A memory store is a tenant, and a memory record is
 * a file, whose ID is `mem_…` in the Memory Stores API. The file's path and content are never recorded.
 */
const STORE_ID = 'gen_ai.memory.store.id';
const RECORD_ID = 'gen_ai.memory.record.id';
const RECORD_COUNT = 'gen_ai.memory.record.count';

/**
 * Commands and tools as operations in the GenAI conventions. The conventions have no separate operations for reads and
 * renames.
 */
const OPERATIONS = new Map([
  ['memory_search', 'search_memory'],
  ['create', 'create_memory'],
  ['delete', 'delete_memory'],
]);

/** Returns a command's operation; undefined for an unknown command. */
function operationName(command: string): string | undefined {
  const byAccess = { read: 'search_memory', write: 'update_memory' };
  const known = findCommand(command);
  return OPERATIONS.get(command) ?? (known && byAccess[known.access]);
}

/**
 * Starts a request's span (HTTP conventions). The span has the route instead of the query and path, which callers
 * choose.
 *
 * @param caller the trace context from the request's headers
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
    runWithin: (work) => source.contexts.with(context, work),
    startCommand: (call) => startCommand(source, call, context),
    startOperation: (details) => startOperation(source, details, context),
    end: ({ status, tenant, outcome }) => {
      span.setAttribute('http.response.status_code', status);
      if (tenant !== undefined) span.setAttribute(STORE_ID, tenant);
      // The HTTP conventions mark server spans as failed only for 5xx.
      if (status >= 500) fail(span, outcome ?? String(status));
      span.end();
    },
  };
}

/** Context key for the current memory operation's span. */
const OPERATION = createContextKey('memory operation');

/** Adds the current operation's file to its span. */
export function traceRecords({ contexts }: SpanSource): RecordTracer {
  const current = () => contexts.active().getValue(OPERATION) as Span | undefined;
  const note = (record: string, store: string | undefined) =>
    void current()?.setAttributes(spanAttributes({ record, store }));
  return { traceMemory: (memory) => (current()?.isRecording() ? new TracedMemory(memory, note) : memory) };
}

function spanAttributes({
  store,
  record,
  count = record === undefined ? undefined : 1,
}: OperationSubject): Attributes {
  return {
    ...(store === undefined ? {} : { [STORE_ID]: store }),
    ...(record === undefined ? {} : { [RECORD_ID]: record }),
    ...(count === undefined ? {} : { [RECORD_COUNT]: count }),
  };
}

/** Starts a span for a Memory Stores API operation (GenAI conventions). */
function startOperation(
  { tracer, contexts }: SpanSource,
  { operation, ...subject }: OperationDetails,
  parent: Context,
): OperationTrace {
  const attributes = { 'gen_ai.operation.name': operation, ...spanAttributes(subject) };
  const span = tracer.startSpan(operation, { attributes }, parent);
  return {
    note: (more) => void span.setAttributes(spanAttributes(more)),
    run: async (work) => {
      try {
        return await contexts.with(trace.setSpan(parent, span), work);
      } catch (error) {
        fail(span, errorType(error));
        throw error;
      } finally {
        span.end();
      }
    },
  };
}

/**
 * Starts two nested spans for a command (GenAI conventions): the tool execution, and the operation on the memory.
 * `traceRecords` adds the file to the operation.
 */
function startCommand(
  { tracer, contexts }: SpanSource,
  call: CommandDetails,
  request: Context,
): CommandTrace {
  const { tool: toolName, command, createExisting, tenant, toolUseId } = call;
  const { parent, links } = spanParent(call, request);
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
      links,
    },
    parent,
  );
  const spans = [tool];
  let context = trace.setSpan(parent, tool);
  const isUpsert = command === 'create' && createExisting === 'overwrite';
  const operation = isUpsert ? 'upsert_memory' : operationName(command);
  if (operation !== undefined) {
    const attributes: Attributes = { 'gen_ai.operation.name': operation, [STORE_ID]: tenant };
    const span = tracer.startSpan(operation, { attributes }, context);
    spans.unshift(span);
    context = trace.setSpan(context, span).setValue(OPERATION, span);
  }
  return {
    exemplar: spanExemplar(tool),
    run: async (work) => {
      try {
        const result = await contexts.with(context, work);
        // The conventions for MCP also mark the span for a failed tool call, although the call returns a result.
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

/**
 * Returns the parent for a call's span: the context that the caller sent with the call, and otherwise the request. In
 * the first case, the span has a link to the request (OpenTelemetry's conventions for MCP).
 */
function spanParent({ callerTrace }: CommandDetails, request: Context): { parent: Context; links: Link[] } {
  if (callerTrace === undefined) return { parent: request, links: [] };
  const parent = propagator.extract(ROOT_CONTEXT, callerTrace, defaultTextMapGetter);
  // The caller's context is invalid.
  if (trace.getSpanContext(parent) === undefined) return { parent: request, links: [] };
  const context = trace.getSpanContext(request);
  return { parent, links: context === undefined ? [] : [{ context }] };
}

/** Marks a span as failed, without the error's message, which may contain a path or content. */
export function fail(span: Span, type: string): void {
  span.setAttribute('error.type', type);
  span.setStatus({ code: SpanStatusCode.ERROR });
}

function errorType(error: unknown): string {
  if (error instanceof ServiceError) return error.code;
  // A Memory Stores API error.
  if (error instanceof Error && 'type' in error && typeof error.type === 'string') return error.type;
  return error instanceof Error ? error.name : '_OTHER';
}

function spanExemplar(span: Span): CommandTrace['exemplar'] {
  const { traceId, spanId, traceFlags } = span.spanContext();
  return traceFlags & TraceFlags.SAMPLED ? { trace_id: traceId, span_id: spanId } : undefined;
}

/** Context key for work that serves several requests. The value lists the requests' contexts. */
const SERVED = createContextKey('served requests');

/**
 * Creates a span for each statement in a traced request (database conventions). A statement that serves several
 * requests gets one span per request, with the same times and with links to the other requests. Each trace is therefore
 * complete, whichever requests are sampled.
 *
 * @param options.database the database URL; undefined for the embedded database
 */
export function traceStatements({
  tracer,
  contexts,
  database,
}: SpanSource & { database: string | undefined }): StatementTracer {
  const target = describeTarget(database);
  const current = () => {
    const context = contexts.active();
    const served = context.getValue(SERVED) as readonly Context[] | undefined;
    return served ?? (trace.getSpan(context)?.isRecording() ? [context] : []);
  };
  return {
    current,
    serve: (requests, work) => contexts.with(ROOT_CONTEXT.setValue(SERVED, requests), work),
    trace: async (statement, execute) => {
      const requests = current();
      const attributes = {
        ...target,
        'db.query.summary': statement,
        ...(requests.length > 1 ? { 'db.operation.batch.size': requests.length } : {}),
      };
      const spans = requests.map((request) =>
        tracer.startSpan(
          statement,
          { kind: SpanKind.CLIENT, attributes, links: linksTo(requests, request) },
          request,
        ),
      );
      try {
        return await execute();
      } catch (error) {
        const type = error instanceof DatabaseError ? (error.faultCode ?? error.code) : '_OTHER';
        for (const span of spans) fail(span, type);
        throw error;
      } finally {
        for (const span of spans) span.end();
      }
    },
  };
}

function linksTo(requests: readonly Context[], own: Context) {
  return requests.flatMap((request) => {
    const context = request === own ? undefined : trace.getSpanContext(request);
    return context === undefined ? [] : [{ context }];
  });
}

function describeTarget(database: string | undefined): Attributes {
  const system = { 'db.system.name': 'postgresql' };
  if (database === undefined) return system;
  const { hostname, port, pathname, searchParams } = new URL(database);
  return {
    ...system,
    'db.namespace': decodeURIComponent(pathname.slice(1)),
    'server.address': searchParams.get('host') ?? (hostname || 'localhost'),
    'server.port': Number(port || 5432),
  };
}

/**
 * Reads a header; for a repeated `traceparent`, its last value. A client may send `traceparent` through an instrumented
 * `fetch`, which appends the nearer span's context.
 */
const LAST_HEADER: TextMapGetter<IncomingHttpHeaders> = {
  keys: (headers) => Object.keys(headers),
  get: (headers, name) => {
    const value = headers[name];
    return typeof value === 'string' && name === 'traceparent' ? value.split(',').at(-1)?.trim() : value;
  },
};

/**
 * Starts tracing with the OpenTelemetry SDK, which reads the other OTEL_ variables itself. The SDK is not registered
 * globally, so instrumented packages add no spans.
 */
export function startOpenTelemetry(config: Config, endpoint: string, log: Logger): Tracing {
  const contexts = new AsyncLocalStorageContextManager().enable();
  const provider = new BasicTracerProvider({
    resource: createResource(),
    spanProcessors: [new BatchSpanProcessor(createExporter(config, endpoint, log))],
  });
  const tracer = provider.getTracer('memory-service', version);
  return {
    activeContext: () => contexts.active(),
    records: traceRecords({ tracer, contexts }),
    statements: traceStatements({ tracer, contexts, database: config.DATABASE_URL }),
    startRequest: (request) => {
      const caller = propagator.extract(ROOT_CONTEXT, request.headers, LAST_HEADER);
      return startRequest({ tracer, contexts }, request, caller);
    },
    stop: () => stopInTime(provider, config),
  };
}
