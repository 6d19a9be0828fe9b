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

/** Gives each request its `call`, and writes one log line for it: never contents, paths only at debug. */
export function registerCallLog(app: FastifyInstance): void {
  app.decorateRequest('call');
  app.addHook('onRequest', async (request, reply) => {
    request.call = {};
    reply.header('X-Request-Id', request.id);
    reply.header('Cache-Control', 'no-store');
    reply.header('X-Content-Type-Options', 'nosniff');
  });
  app.addHook('onResponse', async (request, reply) => {
    const { tenant, command, outcome, paths } = request.call;
    const line = {
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
    if (paths) request.log.debug({ paths }, 'paths');
  });
}
