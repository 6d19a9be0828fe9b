import type { IncomingHttpHeaders } from 'node:http';
import fp from 'fastify-plugin';
import type { StatementTracer } from '../database/query.ts';
import type { RecordTracer } from '../files/record-tracer.ts';
import { disconnectOutcome } from './access-log.ts';

/** Creates the spans of requests and of database statements. While tracing is off, no instance exists. */
export interface Tracing {
  readonly statements: StatementTracer;
  readonly records: RecordTracer;
  /** Starts the span of a request, which continues the trace of the request's headers. */
  startRequest(request: RequestDetails): RequestTrace;
  /** Returns the active context of OpenTelemetry, for records that belong to the current trace. */
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
  /** Starts the span of an operation of the Memory Stores API. */
  startOperation(details: OperationDetails): OperationTrace;
  /** @param response.outcome the code of the problem if the status is an error */
  end(response: { status: number; tenant: string | undefined; outcome: string | undefined }): void;
}

/** The trace context that a caller sends with a call (W3C Trace Context). */
export interface CallerTrace {
  traceparent: string;
  tracestate?: string | undefined;
}

export interface CommandDetails {
  /** The name of the tool: `memory` or `memory_search`. */
  tool: string;
  command: string;
  createExisting: 'error' | 'overwrite';
  tenant: string;
  toolUseId: string | undefined;
  /** The trace that the call continues. By default, a call continues the trace of its request. */
  callerTrace?: CallerTrace | undefined;
}

export interface CommandTrace {
  /** Labels that link a metric to the command's trace. Undefined if the trace is not sampled. */
  readonly exemplar: { trace_id: string; span_id: string } | undefined;
  /** Runs the command and records its outcome in the spans. */
  run<T extends { isError: boolean }>(command: () => Promise<T>): Promise<T>;
}

/** The operations of the GenAI conventions. */
export type MemoryOperation =
  | 'search_memory'
  | 'create_memory'
  | 'update_memory'
  | 'upsert_memory'
  | 'delete_memory'
  | 'create_memory_store'
  | 'delete_memory_store';

/** The subject of an operation. A store has the ID of its tenant, and a record the ID `mem_…` of a file. */
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
    /** The trace of the request. Undefined while tracing is off. */
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
      // Fastify skips `onResponse` if the client disconnects before the end of the response.
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
