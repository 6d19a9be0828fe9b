import type { IncomingHttpHeaders } from 'node:http';
import fp from 'fastify-plugin';
import type { StatementTracer } from '../database/query.ts';
import { disconnectOutcome } from './access-log.ts';

/** Traces what the service does. There is none while tracing is off. */
export interface Tracing {
  readonly statements: StatementTracer;
  /** Starts the span of a request, which continues the trace that its headers name. */
  startRequest(request: RequestDetails): RequestTrace;
  /** Sends the spans that are left, and gives up after a short time. */
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
  /** Runs `work` as part of the request. */
  within(work: () => void): void;
  startCommand(call: CommandDetails): CommandTrace;
  /** @param response.outcome what its log line says: a problem's code when the status is an error's */
  end(response: { status: number; tenant: string | undefined; outcome: string | undefined }): void;
}

export interface CommandDetails {
  /** Whose call it is: `memory` or `memory_search`. */
  tool: string;
  command: string;
  createExisting: 'error' | 'overwrite';
  tenant: string;
  toolUseId: string | undefined;
}

export interface CommandTrace {
  /** Labels that lead from a metric to the command; undefined when the trace is not kept. */
  readonly exemplar: { trace_id: string; span_id: string } | undefined;
  /** Runs the command, and ends its spans with what came of it. */
  run<T extends { isError: boolean }>(command: () => Promise<T>): Promise<T>;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Undefined while tracing is off. */
    trace: RequestTrace | undefined;
  }
}

/** Traces the requests to the routes that are registered after it, and gives their log lines the `trace_id`. */
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
      // Only completed responses reach `onResponse`.
      reply.raw.once('close', () => {
        if (reply.raw.writableFinished) return;
        const { tenant } = request.logEntry;
        trace.end({ ...disconnectOutcome(reply), tenant });
      });
      trace.within(done);
    });
    app.addHook('onResponse', (request, reply, done) => {
      const { tenant, outcome } = request.logEntry;
      request.trace?.end({ status: reply.statusCode, tenant, outcome });
      done();
    });
  },
  { name: 'request-tracing', dependencies: ['access-log'] },
);
