import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { ConnectionError } from 'fastify';
import fp from 'fastify-plugin';
import { ServiceError } from '../errors.ts';
import { commonHeaders } from './access-log.ts';
import { PROBLEM_JSON, problemOf, TITLES } from './problem-details.ts';
import { requestId } from './request-id.ts';

/** How many requests of one connection may be unanswered (HTTP pipelining). */
export const MAX_PIPELINED = 32;
export const MAX_HEADERS = 1000;

/** What the HTTP server does before and around Fastify's routes: limits of a connection, and requests that Node refuses. */
export const connections = fp(
  async (app) => {
    const { server } = app;
    // A client that has sent all it has to send may close its half and still gets its answer. Node's types do not have this
    // (lib/_http_server.js, socketOnEnd); by default it closes the other half too, in the middle of the work.
    Object.assign(server, { httpAllowHalfOpen: true });
    // Node would drop the headers beyond its limit, `X-Tenant-Id` among them. The size of all headers is limited anyway.
    server.maxHeadersCount = 0;
    server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
      const problem = new ServiceError('expectation_failed');
      const { headers, body } = rawProblem(problem, requestId(request));
      response.writeHead(problem.status, { ...headers, Connection: 'close' }).end(body);
    });

    const pending = new WeakMap<Socket, number>();
    app.addHook('onRequest', ({ raw }, reply, done) => {
      const { socket } = raw;
      const count = (pending.get(socket) ?? 0) + 1;
      pending.set(socket, count);
      // Those behind the refused one get no answer: the connection is closed after the refusal.
      if (count > MAX_PIPELINED + 1) return void reply.hijack();
      if (count > MAX_PIPELINED) {
        reply.header('Connection', 'close');
        return done(new ServiceError('too_many_pipelined', MAX_PIPELINED));
      }
      if (raw.rawHeaders.length > 2 * MAX_HEADERS)
        return done(new ServiceError('too_many_headers', MAX_HEADERS));
      done();
    });
    app.addHook('onResponse', ({ raw: { socket } }, _reply, done) => {
      pending.set(socket, (pending.get(socket) ?? 1) - 1);
      done();
    });
  },
  { name: 'connections' },
);

/** Fastify's handler for what Node cannot read as a request: answers like every other problem, and closes the connection. */
export function answerClientError(error: ConnectionError, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) return;
  if (socket.writable) {
    const problem = clientProblem(error.code);
    const { headers, body } = rawProblem(problem, requestId({ headers: {} }));
    const lines = Object.entries({ ...headers, Connection: 'close' }).map(
      ([name, value]) => `${name}: ${value}`,
    );
    socket.write(
      `HTTP/1.1 ${problem.status} ${TITLES[problem.status]}\r\n${lines.join('\r\n')}\r\n\r\n${body}`,
    );
  }
  socket.destroy(error);
}

function clientProblem(code: string | undefined): ServiceError {
  switch (code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new ServiceError('request_timeout');
    case 'HPE_HEADER_OVERFLOW':
      return new ServiceError('headers_too_large');
    default:
      return new ServiceError('invalid_request', 400);
  }
}

/** A problem for an answer that Fastify does not send. */
function rawProblem(problem: ServiceError, id: string): { headers: Record<string, string>; body: string } {
  const body = JSON.stringify(problemOf(problem, id));
  const headers = {
    ...commonHeaders(id),
    'Content-Type': PROBLEM_JSON,
    'Content-Length': String(Buffer.byteLength(body)),
  };
  return { headers, body };
}
