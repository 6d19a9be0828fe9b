import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import {
  type Attributes,
  type Context,
  type ContextManager,
  createContextKey,
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
import { type ExportResult, ExportResultCode, W3CTraceContextPropagator } from '@opentelemetry/core';
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from '@opentelemetry/resources';
import {
  BasicTracerProvider,
  BatchSpanProcessor,
  type ReadableSpan,
  type SpanExporter,
} from '@opentelemetry/sdk-trace-base';
import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import { DatabaseError } from '../database/errors.ts';
import type { StatementTracer } from '../database/query.ts';
import { ServiceError } from '../errors/errors.ts';
import { version } from '../lib/version.ts';
import type { CommandDetails, CommandTrace, RequestDetails, RequestTrace, Tracing } from './tracing.ts';

/** Sends spans to the collector, by the protocol that the configuration names. */
export function createExporter(config: Config, endpoint: string, log: Logger): SpanExporter {
  const protocol = config.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL ?? config.OTEL_EXPORTER_OTLP_PROTOCOL;
  const exporter = protocol === 'http/json' ? new JsonExporter() : new ProtobufExporter();
  return new ReportingExporter(exporter, new URL(endpoint).origin, log);
}

/** Logs that the collector takes no spans: once, until it takes some again. */
class ReportingExporter implements SpanExporter {
  readonly #exporter: SpanExporter;
  readonly #collector: string;
  readonly #log: Logger;
  #isFailing = false;

  constructor(exporter: SpanExporter, collector: string, log: Logger) {
    this.#exporter = exporter;
    this.#collector = collector;
    this.#log = log;
  }

  export(spans: ReadableSpan[], done: (result: ExportResult) => void): void {
    this.#exporter.export(spans, (result) => {
      this.#report(result);
      done(result);
    });
  }

  shutdown(): Promise<void> {
    return this.#exporter.shutdown();
  }

  async forceFlush(): Promise<void> {
    await this.#exporter.forceFlush?.();
  }

  #report({ code, error }: ExportResult): void {
    const isFailing = code !== ExportResultCode.SUCCESS;
    if (isFailing === this.#isFailing) return;
    this.#isFailing = isFailing;
    const collector = this.#collector;
    if (isFailing) {
      this.#log.warn(
        { collector, reason: reasonOf(error) },
        'the collector takes no traces: spans are dropped, and requests are not affected',
      );
    } else this.#log.info({ collector }, 'the collector takes traces again');
  }
}

/** An HTTP status, or the code of a network error. The message may hold what a stranger at this address sent. */
function reasonOf(error: (Error & { code?: unknown }) | undefined): unknown {
  return error?.code ?? 'no response in time';
}

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
 * Starts the spans of a command (GenAI conventions): one for the execution of the tool, and in it one for the
 * operation on the memory. They hold no record's id: that would be the path.
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

/** In the context of work for several requests: their contexts. */
const SERVED = createContextKey('served requests');

/**
 * Gives each traced request a span for each statement that serves it (database conventions). When a statement serves
 * several requests, each has a span of its own with the same times, linked to the other requests: so every trace is
 * complete, whatever is sampled.
 *
 * @param options.database its URL; undefined for the embedded one
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

/** How much of the time for a stop may go to the last spans: a collector that hangs must not make the stop fail. */
const FLUSH_SHARE = 1 / 4;

/**
 * Reads a header; of one that was sent twice, the last one: a client that sends `traceparent` may use a `fetch` that
 * is instrumented and adds its own, which names the nearer span.
 */
const LAST_HEADER: TextMapGetter<IncomingHttpHeaders> = {
  keys: (headers) => Object.keys(headers),
  get: (headers, name) => {
    const value = headers[name];
    return typeof value === 'string' && name === 'traceparent' ? value.split(',').at(-1)?.trim() : value;
  },
};

/**
 * Tracing with OpenTelemetry's SDK, which reads the other OTEL_ variables itself. Nothing is registered globally, so
 * packages that have an instrumentation of their own add no spans.
 */
export function startOpenTelemetry(config: Config, endpoint: string, log: Logger): Tracing {
  const contexts = new AsyncLocalStorageContextManager().enable();
  const propagator = new W3CTraceContextPropagator();
  const provider = new BasicTracerProvider({
    resource: defaultResource()
      .merge(
        resourceFromAttributes({
          'service.name': 'memory-service',
          'service.version': version,
          'service.instance.id': randomUUID(),
        }),
      )
      .merge(detectResources({ detectors: [envDetector] })),
    spanProcessors: [new BatchSpanProcessor(createExporter(config, endpoint, log))],
  });
  const tracer = provider.getTracer('memory-service', version);
  return {
    statements: traceStatements({ tracer, contexts, database: config.DATABASE_URL }),
    startRequest: (request) => {
      const caller = propagator.extract(ROOT_CONTEXT, request.headers, LAST_HEADER);
      return startRequest({ tracer, contexts }, request, caller);
    },
    stop: async () => {
      // The exporter has logged a failure.
      const stopped = provider.shutdown().catch(() => {});
      await Promise.race([stopped, delay(config.SHUTDOWN_TIMEOUT_MS * FLUSH_SHARE)]);
    },
  };
}
