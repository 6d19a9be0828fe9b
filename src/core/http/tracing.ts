import type { IncomingHttpHeaders } from 'node:http';
import fp from 'fastify-plugin';
import type { StatementTracer } from '../database/query.ts';
import type { RecordTracer } from '../files/record-tracer.ts';
import { disconnectOutcome } from './access-log.ts';

/** Creates the spans for requests and for database statements. While tracing is off, no instance exists. */
export interface Tracing {
  readonly statements: StatementTracer;
  readonly records: RecordTracer;
  /** Starts a request's span, which continues the trace in the request's headers. */
  startRequest(request: RequestDetails): RequestTrace;
  /** Returns OpenTelemetry's active context, for records that belong to the current trace. */
  activeContext(): unknown;
  /** Sends the remaining spans within a time limit. */
  stop(): Promise<void>;
}

export interface RequestDetails {
  id: string;
  method: string;
  route: string;
  scheme: string;
  headers: IncomingHttpHeaders;
}

export interface RequestTrace {
  readonly traceId: string;
  /** Runs `work` in the context of the request's span. */
  runWithin(work: () => void): void;
  startCommand(call: CommandDetails): CommandTrace;
  /** Starts the span for a Memory Stores API operation. */
  startOperation(details: OperationDetails): OperationTrace;
  /** @param response.outcome the problem's code if the status is an error */
  end(response: { status: number; tenant: string | undefined; outcome: string | undefined }): void;
}

/** The trace context that a caller sends with a call (W3C Trace Context). */
export interface CallerTrace {
  traceparent: string;
  tracestate?: string | undefined;
}

export interface CommandDetails {
  /** The tool's name: `memory` or `memory_search`. */
  tool: string;
  command: string;
  createExisting: 'error' | 'overwrite';
  tenant: string;
  toolUseId: string | undefined;
  /** The trace that the call continues. By default, a call continues its request's trace. */
  callerTrace?: CallerTrace | undefined;
}

export interface CommandTrace {
  /** Labels that link a metric to the command's trace. Undefined if the trace is not sampled. */
  readonly exemplar: { trace_id: string; span_id: string } | undefined;
  /** Runs the command and records its outcome in the spans. */
  run<T extends { isError: boolean }>(command: () => Promise<T>): Promise<T>;
}

/** The operations in the GenAI conventions. */
export type MemoryOperation =
  | 'search_memory'
  | 'create_memory'
  | 'update_memory'
  | 'upsert_memory'
  | 'delete_memory'
  | 'create_memory_store'
  | 'delete_memory_store';

/** An operation's subject. A store has its tenant's ID, and a record a file's ID `mem_…`. */
export interface OperationSubject {
  store?: string | undefined;
  record?: string | undefined;
  /** Number of files. */
  count?: number | undefined;
}

export interface OperationDetails extends OperationSubject {
  operation: MemoryOperation;
}

export interface OperationTrace {
  /** Adds the subject that only the result names. */
  note(subject: OperationSubject): void;
  run<T>(work: () => Promise<T>): Promise<T>;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The request's trace. Undefined while tracing is off. */
    trace: RequestTrace | undefined;
  }
}

/** Traces requests to the routes registered after this plugin, and adds `trace_id` to their log lines. */
export const requestTracing = fp<{ tracing: Tracing }>(
  async (app, { tracing }) => {
    app.addHook('onRequest', (request, reply, done) => {
      const { id, method, protocol: scheme, headers } = request;
      const trace = tracing.startRequest({
        id,
        method,
        scheme,
        headers,
        route: request.routeOptions.url ?? 'none',
      });
      request.trace = trace;
      request.logEntry.traceId = trace.traceId;
      // Fastify skips `onResponse` if the client disconnects before the response ends.
      request.onClose.push(() => {
        if (reply.raw.writableFinished) return;
        const { tenant } = request.logEntry;
        trace.end({ ...disconnectOutcome(reply), tenant });
      });
      trace.runWithin(done);
    });
    app.addHook('onResponse', (request, reply, done) => {
      const { tenant, outcome } = request.logEntry;
      request.trace?.end({ status: reply.statusCode, tenant, outcome });
      done();
    });
  },
  { name: 'request-tracing', dependencies: ['access-log'] },
);
