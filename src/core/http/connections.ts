import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { ConnectionError } from 'fastify';
import fp from 'fastify-plugin';
import { type Config, isLoopback } from '../config.ts';
import { ServiceError } from '../errors/errors.ts';
import { TurnQueue } from '../lib/queues.ts';
import { commonHeaders } from './access-log.ts';
import { PROBLEM_JSON, TITLES, toProblem } from './problem-details.ts';

const SANE = /^[A-Za-z0-9._:@/+=-]{1,128}$/;

/** Returns the caller's `X-Request-Id` if it is safe for a log line and a header, and otherwise a new ID. */
export function requestId(request: Pick<IncomingMessage, 'headers'>): string {
  const given = request.headers['x-request-id'];
  return typeof given === 'string' && SANE.test(given) ? given : randomUUID();
}

/** Maximum number of requests on one connection that may wait for their responses (HTTP pipelining). */
export const MAX_PIPELINED = 8;
export const MAX_HEADERS = 1000;

/**
 * Creates the error response for the API to which a URL belongs, for errors that Fastify does not handle. The URL is
 * empty if it is unknown.
 */
export type RawError = (
  url: string,
  error: ServiceError,
  id: string,
) => { headers: Record<string, string>; body: string };

/** Enforces a connection's limits and handles requests that Node rejects before Fastify routes them. */
export const connections = fp<{ rawError?: RawError; isUnixSocket?: boolean }>(
  async (app, { rawError = rawProblem, isUnixSocket = false }) => {
    const { server } = app;
    // A client may half-close its connection after the request and still receive the response. By default, Node then
    // closes the other half while the request runs (lib/_http_server.js, socketOnEnd). Node's types lack this option.
    Object.assign(server, { httpAllowHalfOpen: true });
    // Above its default limit, Node silently drops headers such as `X-Tenant-Id`. The headers' total size is limited
    // anyway.
    server.maxHeadersCount = 0;
    server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
      const problem = new ServiceError('expectation_failed');
      const { headers, body } = complete(rawError, request.url ?? '', problem, requestId(request));
      response.writeHead(problem.status, { ...headers, Connection: 'close' }).end(body);
    });

    const pending = new WeakMap<Socket, Set<ServerResponse>>();
    app.addHook('onRequest', (request, reply, done) => {
      // The address is undefined if the client has reset the connection, and requests without an address are rejected.
      // This read also caches the address for later.
      if (request.ip === undefined && !isUnixSocket) return done(new ServiceError('client_gone'));
      const { raw } = request;
      const { socket } = raw;
      let responses = pending.get(socket);
      if (responses === undefined) {
        responses = new Set();
        pending.set(socket, responses);
        socket.once('close', closeQueued.bind(undefined, responses));
      }
      const { raw: response } = reply;
      const all = responses.add(response);
      request.onClose.push(() => all.delete(response));
      const count = all.size;
      // The connection is closed after the rejected request, so the requests behind it receive no response. If the
      // client sends still more, the connection is closed immediately.
      if (count > MAX_PIPELINED + 1) {
        if (count > 2 * MAX_PIPELINED) socket.destroy();
        return void reply.hijack();
      }
      if (count > MAX_PIPELINED) {
        reply.header('Connection', 'close');
        return done(new ServiceError('too_many_pipelined', MAX_PIPELINED));
      }
      if (raw.rawHeaders.length > 2 * MAX_HEADERS)
        return done(new ServiceError('too_many_headers', MAX_HEADERS));
      done();
    });
  },
  { name: 'connections', dependencies: ['access-log'] },
);

/**
 * Closes the responses that wait in a closed connection's pipeline. Node closes only the first response
 * (`lib/_http_server.js`, `onServerResponseClose`), and the other responses' `close` event releases their resources.
 */
function closeQueued(responses: ReadonlySet<ServerResponse>): void {
  for (const response of responses) {
    if (response.socket !== null || response.writableFinished) continue;
    response.destroy();
    response.emit('close');
  }
}

const overdue = new TurnQueue();

/**
 * Returns a handler for input that Node cannot parse as a request. The handler sends an error and closes the
 * connection.
 */
export function clientErrorHandler(rawError: RawError = rawProblem) {
  return (error: ConnectionError, socket: Socket) => respondToClientError(error, socket, rawError);
}

export function respondToClientError(
  error: ConnectionError,
  socket: Socket,
  rawError: RawError = rawProblem,
): void {
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    // Node reports all requests that became overdue in a second together, possibly thousands, so the queue spreads the
    // work. The rest of an overdue request is not read.
    socket.pause();
    overdue.add(() => reject(error, socket, rawError));
  } else {
    reject(error, socket, rawError);
  }
}

function reject(error: ConnectionError, socket: Socket, rawError: RawError): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) return;
  if (socket.writable) {
    const problem = clientProblem(error.code);
    const { headers, body } = complete(rawError, packetUrl(error), problem, requestId({ headers: {} }));
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

/** Returns the URL in a request that Node could not parse, if the last packet starts with the request line. */
function packetUrl({ rawPacket }: { rawPacket?: unknown }): string {
  // At run time, the packet is a buffer. Fastify's type describes its JSON form.
  if (!Buffer.isBuffer(rawPacket)) return '';
  const [, url = ''] = /^[A-Z]+ (\S+)/.exec(rawPacket.toString('latin1', 0, URL_BYTES)) ?? [];
  return url;
}

/** Maximum number of bytes to read from a request to determine its API. */
const URL_BYTES = 200;

export const rawProblem: RawError = (_url, problem, id) => ({
  headers: { 'Content-Type': PROBLEM_JSON },
  body: JSON.stringify(toProblem(problem, id)),
});

function complete(rawError: RawError, url: string, error: ServiceError, id: string): ReturnType<RawError> {
  const { headers, body } = rawError(url, error, id);
  const length = String(Buffer.byteLength(body));
  return { headers: { ...commonHeaders(id), ...headers, 'Content-Length': length }, body };
}

/** Matches the hosts that nearly every client of a local service sends. Other hosts are parsed. */
const USUAL_HOST = /^(?:localhost|127\.0\.0\.1|\[::1\])(?::[1-5]?\d{1,4})?$/;

/**
 * Rejects requests that a web page sends through the user's browser (DNS rebinding). Without authentication, only the
 * loopback address protects the memory, and a web page can point its host name to the loopback address.
 *
 * @param options.onlyOwnPages whether pages from other servers on the same machine are rejected too
 */
export const hostCheck = fp<{
  config: Pick<Config, 'AUTH' | 'HOST' | 'ALLOW_UNAUTHENTICATED'>;
  onlyOwnPages?: boolean;
}>(
  async (app, { config: { AUTH, HOST, ALLOW_UNAUTHENTICATED }, onlyOwnPages = false }) => {
    if (AUTH !== 'none' || ALLOW_UNAUTHENTICATED || !isLoopback(HOST)) return;
    app.addHook('onRequest', ({ headers: { host, origin } }, _reply, done) => {
      // Browsers always send Host, so a request without the header cannot come from a web page.
      if (host !== undefined && !USUAL_HOST.test(host) && !isLoopbackUrl(`http://${host}`))
        return done(new ServiceError('host_not_allowed', 'Host'));
      if (origin !== undefined && !isLoopbackUrl(origin))
        return done(new ServiceError('host_not_allowed', 'Origin'));
      if (origin !== undefined && onlyOwnPages && new URL(origin).host !== host?.toLowerCase())
        return done(new ServiceError('host_not_allowed', 'another server'));
      done();
    });
  },
  { name: 'host-check' },
);

function isLoopbackUrl(url: string): boolean {
  return URL.canParse(url) && isLoopback(new URL(url).hostname.replace(/^\[(.*)\]$/, '$1'));
}
