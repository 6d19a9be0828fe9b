import type { FastifyReply, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { ServiceError } from '../errors/errors.ts';
import { connectionSignal } from './client-connection.ts';

/** A request's details for its log line and the metrics. */
export interface AccessLogEntry {
  tenant?: string;
  command?: string;
  /** The admin key's or token subject's ID, or only another actor's type. */
  actor?: string;
  /** The ID of the API key that the request created or changed. */
  key?: string;
  /** `ok`, `error` (a result that reports a failure), or a problem's code. */
  outcome?: string;
  traceId?: string;
  isLogged?: boolean;
}

declare module 'fastify' {
  interface FastifyRequest {
    logEntry: AccessLogEntry;
    /**
     * Functions to call when the response is complete or its connection is closed. They share one listener, because
     * each request has several.
     */
    onClose: (() => void)[];
  }
}

export function commonHeaders(requestId: string): Record<string, string> {
  return { 'X-Request-Id': requestId, 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' };
}

const { status: DISCONNECTED, code: CLIENT_GONE } = new ServiceError('client_gone');

/** Adds a `logEntry` to each request and writes one log line for the request, without contents and paths. */
export const accessLog = fp(
  async (app) => {
    app.decorateRequest('logEntry');
    app.decorateRequest('onClose');
    app.addHook('onRequest', (request, reply, done) => {
      request.logEntry = {};
      reply.headers(commonHeaders(request.id));
      // Fastify skips `onResponse` if the client disconnects before the response ends.
      const onClose = [() => logDisconnect(request, reply)];
      request.onClose = onClose;
      reply.raw.once('close', () => {
        for (const each of onClose) each();
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

/** Logs a request whose client disconnected before the response ended. Work for the request may continue. */
function logDisconnect(request: FastifyRequest, reply: FastifyReply): void {
  if (request.logEntry.isLogged) return;
  const { status, outcome } = disconnectOutcome(reply);
  log(request, reply, status, outcome);
}

/** Returns the status and outcome to record for a response whose client disconnected before its end. */
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
  // Probes arrive every few seconds, and a successful probe is not worth a log line.
  if (tenant === undefined && actor === undefined && status < 400) request.log.debug(line, 'request');
  else request.log.info(line, 'request');
}

/**
 * Returns a signal that aborts when a request's client disconnects. The abort reason is the error to throw.
 */
export function disconnectSignal({ raw: { socket } }: FastifyRequest, { raw }: FastifyReply): AbortSignal {
  return connectionSignal(socket, raw, () => new ServiceError('client_gone'));
}
