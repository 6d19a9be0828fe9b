import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { FastifyServerFactory } from 'fastify';
import type { Logger } from 'pino';
import { headersOfAll } from './call.ts';
import { type Load, overloaded } from './load.ts';
import type { Metrics } from './metrics.ts';
import { PROBLEM_JSON, problemOf } from './problem.ts';
import { requestId } from './request-id.ts';

const SUMMARY_INTERVAL_MS = 1000;

/**
 * The HTTP server, which refuses commands at its door while there is no place for them: what would go through the hooks to the same
 * refusal (`loadHook`) costs several times as much, and under overload that is taken from the requests that are in work. Such
 * a request has no log line of its own; there is one a second for all.
 */
export function sheddingServer(options: { load: Load; metrics: Metrics; log: Logger }): FastifyServerFactory {
  const { load, metrics, log } = options;
  const refusal = overloaded();
  let refused = 0;

  const summarise = () => {
    log.warn({ refused, code: refusal.code }, 'requests refused');
    refused = 0;
  };
  const refuse = (request: IncomingMessage, response: ServerResponse, isClosing: boolean) => {
    const id = requestId(request);
    const body = JSON.stringify(problemOf(refusal, id));
    response.writeHead(refusal.status, {
      ...headersOfAll(id),
      'Retry-After': String(refusal.retryAfter),
      'Content-Type': PROBLEM_JSON,
      'Content-Length': Buffer.byteLength(body),
      ...(isClosing ? { Connection: 'close' } : {}),
    });
    response.end(body);
    metrics.observeResponse('/execute', refusal.status);
    if (refused++ === 0) setTimeout(summarise, SUMMARY_INTERVAL_MS).unref();
  };

  return (handle, { http, keepAliveTimeout, requestTimeout, connectionTimeout }) => {
    const server = createServer(http as object, (request, response) => {
      if (load.isFull && request.url === '/execute' && request.method === 'POST')
        refuse(request, response, !server.listening);
      else handle(request, response);
    });
    // What Fastify sets on a server that it makes itself.
    server.keepAliveTimeout = keepAliveTimeout as number;
    server.requestTimeout = requestTimeout as number;
    server.setTimeout(connectionTimeout as number);
    // A client that has sent all it has to send may close its half and still gets its answer. Node's types do not have this
    // (lib/_http_server.js, socketOnEnd); by default it closes the other half too, in the middle of the work.
    Object.assign(server, { httpAllowHalfOpen: true });
    return server;
  };
}
