import fp from 'fastify-plugin';

/** What is known of a request, for its log line and the metrics. */
export interface AccessLogEntry {
  tenant?: string;
  command?: string;
  /** Who administers: the id of the key, or what else is known. */
  actor?: string;
  /** The id of the key that an administrator made or changed. */
  key?: string;
  /** `ok`, `error` (a result that reports a failure) or a problem's code. */
  outcome?: string;
  traceId?: string;
}

declare module 'fastify' {
  interface FastifyRequest {
    logEntry: AccessLogEntry;
  }
}

/** Headers of every response. */
export function commonHeaders(requestId: string): Record<string, string> {
  return { 'X-Request-Id': requestId, 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' };
}

/** Gives each request a `logEntry` and writes one log line for it, without contents and paths. */
export const accessLog = fp(
  async (app) => {
    app.decorateRequest('logEntry');
    app.addHook('onRequest', (request, reply, done) => {
      request.logEntry = {};
      reply.headers(commonHeaders(request.id));
      done();
    });
    app.addHook('onResponse', (request, reply, done) => {
      const { tenant, command, actor, key, outcome, traceId } = request.logEntry;
      const line = {
        reqId: request.id,
        method: request.method,
        route: request.routeOptions.url ?? 'none',
        status: reply.statusCode,
        tenant,
        command,
        actor,
        key,
        outcome,
        trace_id: traceId,
        durationMs: Math.round(reply.elapsedTime * 1000) / 1000,
      };
      // Probes come every few seconds. Successful ones are not worth a line.
      if (tenant === undefined && actor === undefined && reply.statusCode < 400)
        request.log.debug(line, 'request');
      else request.log.info(line, 'request');
      done();
    });
  },
  { name: 'access-log' },
);
