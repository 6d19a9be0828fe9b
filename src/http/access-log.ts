import type { FastifyReply, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { ServiceError } from '../errors/errors.ts';
import { connectionSignal } from './client-connection.ts';

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
  /** Whether the log line is written. */
  isLogged?: boolean;
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

const MAX_LISTENERS = 20;

const { status: DISCONNECTED, code: CLIENT_GONE } = new ServiceError('client_gone');

/** Gives each request a `logEntry` and writes one log line for it, without contents and paths. */
export const accessLog = fp(
  async (app) => {
    app.decorateRequest('logEntry');
    app.addHook('onRequest', (request, reply, done) => {
      request.logEntry = {};
      reply.headers(commonHeaders(request.id));
      // More plugins wait for the end of a response than Node expects of code without leaks.
      reply.raw.setMaxListeners(MAX_LISTENERS);
      // Only completed responses reach `onResponse`.
      reply.raw.once('close', () => {
        if (!request.logEntry.isLogged) logDisconnect(request, reply);
      });
      done();
    });
    app.addHook('onResponse', (request, reply, done) => {
      log(request, reply, reply.statusCode, request.logEntry.outcome);
      done();
    });
  },
  { name: 'access-log' },
);

/** Logs a request whose client has left before the end of its response. Work for the request may go on. */
function logDisconnect(request: FastifyRequest, reply: FastifyReply): void {
  const { status, outcome } = disconnectOutcome(reply);
  log(request, reply, status, outcome);
}

/** Returns what the log and traces say of a response whose client has left before its end. */
export function disconnectOutcome({ raw, statusCode }: FastifyReply): { status: number; outcome: string } {
  return { status: raw.headersSent ? statusCode : DISCONNECTED, outcome: CLIENT_GONE };
}

function log(
  request: FastifyRequest,
  reply: FastifyReply,
  status: number,
  outcome: string | undefined,
): void {
  request.logEntry.isLogged = true;
  const { tenant, command, actor, key, traceId } = request.logEntry;
  const line = {
    reqId: request.id,
    method: request.method,
    route: request.routeOptions.url ?? 'none',
    status,
    tenant,
    command,
    actor,
    key,
    outcome,
    trace_id: traceId,
    durationMs: Math.round(reply.elapsedTime * 1000) / 1000,
  };
  // Probes come every few seconds. Successful ones are not worth a line.
  if (tenant === undefined && actor === undefined && status < 400) request.log.debug(line, 'request');
  else request.log.info(line, 'request');
}

/** Returns a signal that aborts, with the error to throw, once the client of a request has left. */
export function disconnectSignal({ raw: { socket } }: FastifyRequest, { raw }: FastifyReply): AbortSignal {
  return connectionSignal(socket, raw, () => new ServiceError('client_gone'));
}
