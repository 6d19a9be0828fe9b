import fp from 'fastify-plugin';
import type { RequestTrace, Tracing } from '../tracing/tracing.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Undefined while tracing is off. */
    trace: RequestTrace | undefined;
  }
}

/** Traces the requests to the routes that are registered after it, and gives their log lines the `trace_id`. */
export const requestTracing = fp<{ tracing: Tracing }>(
  async (app, { tracing }) => {
    app.addHook('onRequest', (request, _reply, done) => {
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
