import type { FastifyInstance } from 'fastify';

/** What a request turned out to be about; for its log line and the metrics. */
export interface Call {
  tenant?: string;
  command?: string;
  /** `ok`, `error` (a result that reports a failure) or a problem's code. */
  outcome?: string;
  /** Paths the command names, logged at debug only. */
  paths?: string[];
}

declare module 'fastify' {
  interface FastifyRequest {
    call: Call;
  }
}

/** What each answer has. */
export function headersOfAll(requestId: string): Record<string, string> {
  return { 'X-Request-Id': requestId, 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' };
}

/**
 * Gives each request its `call`, and writes one log line for it: never contents, paths only at debug.
 *
 * @param onCall is told each response, for the metrics
 */
export function registerCallLog(app: FastifyInstance, onCall: (route: string, status: number) => void): void {
  app.decorateRequest('call');
  app.addHook('onRequest', (request, reply, done) => {
    request.call = {};
    reply.headers(headersOfAll(request.id));
    done();
  });
  app.addHook('onResponse', (request, reply, done) => {
    const { tenant, command, outcome, paths } = request.call;
    const route = request.routeOptions.url ?? 'none';
    const status = reply.statusCode;
    onCall(route, status);
    const line = {
      reqId: request.id,
      method: request.method,
      route,
      status,
      tenant,
      command,
      outcome,
      durationMs: Math.round(reply.elapsedTime * 1000) / 1000,
    };
    // Probes come every few seconds and say nothing while all is well.
    if (tenant === undefined && reply.statusCode < 400) request.log.debug(line, 'request');
    else request.log.info(line, 'request');
    if (paths) request.log.debug({ reqId: request.id, paths }, 'paths');
    done();
  });
}
