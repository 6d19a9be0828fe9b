import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { ConnectionError } from 'fastify';
import fp from 'fastify-plugin';
import { type Config, isLoopback } from '../config.ts';
import { ServiceError } from '../errors/errors.ts';
import { TurnQueue } from '../lib/queues.ts';
import { commonHeaders } from './access-log.ts';
import { PROBLEM_JSON, problemOf, TITLES } from './problem-details.ts';

const SANE = /^[A-Za-z0-9._:@/+=-]{1,128}$/;

/** Returns the caller's `X-Request-Id` if it is safe for a log line and a header, otherwise a new ID. */
export function requestId(request: Pick<IncomingMessage, 'headers'>): string {
  const given = request.headers['x-request-id'];
  return typeof given === 'string' && SANE.test(given) ? given : randomUUID();
}

/** How many requests of one connection may wait for their responses (HTTP pipelining). */
export const MAX_PIPELINED = 8;
export const MAX_HEADERS = 1000;

/**
 * An error of the API to which a URL belongs, for a response that Fastify does not send. The URL is empty where it is
 * not known.
 */
export type RawError = (
  url: string,
  error: ServiceError,
  id: string,
) => { headers: Record<string, string>; body: string };

/** Handles what comes before Fastify's routes: limits of a connection, and requests that Node rejects. */
export const connections = fp<{ rawError?: RawError; isUnixSocket?: boolean }>(
  async (app, { rawError = rawProblem, isUnixSocket = false }) => {
    const { server } = app;
    // A client may close its sending half after the request and still get the response. By default, Node closes the
    // other half as well, while the request runs (lib/_http_server.js, socketOnEnd). Node's types lack this option.
    Object.assign(server, { httpAllowHalfOpen: true });
    // Node would silently drop headers beyond its limit, such as `X-Tenant-Id`. The total size of the headers is
    // limited anyway.
    server.maxHeadersCount = 0;
    server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
      const problem = new ServiceError('expectation_failed');
      const { headers, body } = complete(rawError, request.url ?? '', problem, requestId(request));
      response.writeHead(problem.status, { ...headers, Connection: 'close' }).end(body);
    });

    const pending = new WeakMap<Socket, Set<ServerResponse>>();
    app.addHook('onRequest', (request, reply, done) => {
      // A connection that its client has reset has no address, and nothing is done without one. Reading it keeps it
      // for later.
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
      response.once('close', () => all.delete(response));
      const count = all.size;
      // Those behind the refused one get no response: the connection is closed after the refusal, or now if they go on.
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
  { name: 'connections' },
);

/**
 * Closes the responses that were waiting for their turn when their connection was closed. Node closes only the one
 * whose turn it is (`lib/_http_server.js`, `onServerResponseClose`), and what the others hold is released by their
 * `close`.
 */
function closeQueued(responses: ReadonlySet<ServerResponse>): void {
  for (const response of responses) {
    if (response.socket !== null || response.writableFinished) continue;
    response.destroy();
    response.emit('close');
  }
}

const overdue = new TurnQueue();

/** Returns a handler of what Node cannot parse as a request: it responds with an error and closes the connection. */
export function clientErrorHandler(rawError: RawError = rawProblem) {
  return (error: ConnectionError, socket: Socket) => respondToClientError(error, socket, rawError);
}

export function respondToClientError(
  error: ConnectionError,
  socket: Socket,
  rawError: RawError = rawProblem,
): void {
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    // Node names all overdue requests of a second at once, which can be thousands. What still comes of one is not read.
    socket.pause();
    overdue.add(() => refuse(error, socket, rawError));
  } else {
    refuse(error, socket, rawError);
  }
}

function refuse(error: ConnectionError, socket: Socket, rawError: RawError): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) return;
  if (socket.writable) {
    const problem = clientProblem(error.code);
    const { headers, body } = complete(rawError, urlOf(error), problem, requestId({ headers: {} }));
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

/** The URL of a request that Node could not parse, where it begins the packet that Node read last. */
function urlOf({ rawPacket }: { rawPacket?: unknown }): string {
  // Fastify's type describes it as JSON shows it.
  if (!Buffer.isBuffer(rawPacket)) return '';
  const [, url = ''] = /^[A-Z]+ (\S+)/.exec(rawPacket.toString('latin1', 0, URL_BYTES)) ?? [];
  return url;
}

/** As many bytes of a request as tell to which API it belongs. */
const URL_BYTES = 200;

export const rawProblem: RawError = (_url, problem, id) => ({
  headers: { 'Content-Type': PROBLEM_JSON },
  body: JSON.stringify(problemOf(problem, id)),
});

function complete(rawError: RawError, url: string, error: ServiceError, id: string): ReturnType<RawError> {
  const { headers, body } = rawError(url, error, id);
  const length = String(Buffer.byteLength(body));
  return { headers: { ...commonHeaders(id), ...headers, 'Content-Length': length }, body };
}

/** What nearly every client of a local service sends; any other host is parsed. */
const USUAL_HOST = /^(?:localhost|127\.0\.0\.1|\[::1\])(?::[1-5]?\d{1,4})?$/;

/**
 * Rejects requests that a web page makes the user's browser send (DNS rebinding). Without authentication, only the
 * loopback address protects the memory, and a page can point a host name of its own to that address.
 *
 * @param options.onlyOwnPages rejects the pages of other servers on this machine too
 */
export const hostCheck = fp<{
  config: Pick<Config, 'AUTH' | 'HOST' | 'ALLOW_UNAUTHENTICATED'>;
  onlyOwnPages?: boolean;
}>(
  async (app, { config: { AUTH, HOST, ALLOW_UNAUTHENTICATED }, onlyOwnPages = false }) => {
    if (AUTH !== 'none' || ALLOW_UNAUTHENTICATED || !isLoopback(HOST)) return;
    app.addHook('onRequest', ({ headers: { host, origin } }, _reply, done) => {
      // Browsers always send Host.
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
