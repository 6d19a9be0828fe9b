import fp from 'fastify-plugin';

/** What a request turned out to be about; for its log line and the metrics. */
export interface AccessLogEntry {
  tenant?: string;
  command?: string;
  /** `ok`, `error` (a result that reports a failure) or a problem's code. */
  outcome?: string;
}

declare module 'fastify' {
  interface FastifyRequest {
    logEntry: AccessLogEntry;
  }
}

/** Headers of every answer. */
export function commonHeaders(requestId: string): Record<string, string> {
  return { 'X-Request-Id': requestId, 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' };
}

/** Gives each request its `logEntry`, and writes one log line for it: never contents or paths. */
export const accessLog = fp(
  async (app) => {
    app.decorateRequest('logEntry');
    app.addHook('onRequest', (request, reply, done) => {
      request.logEntry = {};
      reply.headers(commonHeaders(request.id));
      done();
    });
    app.addHook('onResponse', (request, reply, done) => {
      const { tenant, command, outcome } = request.logEntry;
      const line = {
        reqId: request.id,
        method: request.method,
        route: request.routeOptions.url ?? 'none',
        status: reply.statusCode,
        tenant,
        command,
        outcome,
        durationMs: Math.round(reply.elapsedTime * 1000) / 1000,
      };
      // Probes come every few seconds and say nothing while all is well.
      if (tenant === undefined && reply.statusCode < 400) request.log.debug(line, 'request');
      else request.log.info(line, 'request');
      done();
    });
  },
  { name: 'access-log' },
);
