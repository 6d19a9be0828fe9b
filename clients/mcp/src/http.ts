import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import { type MemoryClient, type MemoryClientOptions, MemoryServiceError } from 'memory-service-client';
import { connectionSignal, PartsOfBuffer, ResponsePace } from '../../../src/core/http/client-connection.ts';
import {
  ConcurrencyLimiter,
  type ConcurrencyLimits,
  type Rejection,
} from '../../../src/core/lib/concurrency-limiter.ts';
import { type Deadline, Deadlines } from '../../../src/core/lib/deadlines.ts';
import { CallOrder, requestAccess } from '../../../src/features/mcp/call-order.ts';
import { isSubscription, type McpResponse, respondToMessages } from '../../../src/features/mcp/exchange.ts';
import { requestOrder, type Session, Sessions } from '../../../src/features/mcp/mcp-sessions.ts';
import { mcpResponseBytes } from '../../../src/features/mcp/response-bytes.ts';
import packageJson from '../package.json' with { type: 'json' };
import { AcceptedCallers } from './accepted-callers.ts';
import { HttpError } from './http-error.ts';
import { serveMemory } from './memory-server.ts';
import { readBody } from './request-body.ts';
import { createClient, nameSettings } from './settings.ts';
import { lastEvent, subscribeAtService } from './subscriptions.ts';

const LOOPBACK = ['localhost', '127.0.0.1', '[::1]'];
/** A token or a tenant ID that is valid in a header. */
const HEADER_VALUE = /^[\x21-\x7e]+$/;
const MEBIBYTE = 2 ** 20;
/** Maximum time for a client to send a request. */
const REQUEST_TIMEOUT_MS = 60_000;
/** Maximum time in which a client reads no byte of its response; see `ResponsePace`. */
const TRANSFER_TIMEOUT_MS = 5000;
/** Maximum time that a request waits for an earlier request of its session. */
const GAP_TIMEOUT_MS = 500;

export interface HttpOptions {
  /** URL of the service. Callers send the keys. */
  client: Pick<MemoryClientOptions, 'url' | 'tenant' | 'provenance'>;
  /** Host names of the server in addition to the names of the loopback interface, without ports. */
  allowedHosts: readonly string[];
  maxBodyBytes: number;
  /** Maximum number of concurrent requests; `perKey` is per caller. The service has the same defaults. */
  concurrency?: ConcurrencyLimits;
  /** Maximum time in which a client reads no byte of its response. */
  transferTimeoutMs?: number;
  /** Aborts when the server stops, which ends all subscriptions. */
  stopping?: AbortSignal;
}

/** Maximum number of open subscriptions, of all callers and of one caller. The service has the same limits by default. */
const SUBSCRIPTIONS = { total: 1000, perKey: 100, maxWaiting: 0, maxWaitMs: 0 };
const CONCURRENCY = { total: 64, perKey: 32, maxWaiting: 1000, maxWaitMs: 1000 };
/** Maximum bytes of bodies and responses in memory. Parsing and sending a body takes several times its size. */
const BYTES = { total: 64 * MEBIBYTE, perKey: 16 * MEBIBYTE };
/** The service's default limits, for estimating the size of responses. A longer response is counted once it exists. */
const SERVICE_LIMITS = { maxFileBytes: MEBIBYTE, maxViewChars: 100_000 };

/** The caller of a request, and the key of its limits. */
interface Caller {
  apiKey: string | undefined;
  tenant: string | undefined;
  key: string;
  sessionId: string | undefined;
}

/**
 * Serves MCP at `/mcp` over streamable HTTP. Each request has its caller's token, which is forwarded to the service. No
 * state is kept between requests, so any replica can respond.
 */
export function createHttpServer(options: HttpOptions): Server {
  const allowed = new Set([...LOOPBACK, ...options.allowedHosts]);
  const handler = new Handler(options);
  const timeouts = {
    headersTimeout: 10_000,
    requestTimeout: REQUEST_TIMEOUT_MS,
    connectionsCheckingInterval: 5000,
  };
  return createServer(timeouts, (request, response) => {
    if (isLivenessProbe(request)) return sendLiveness(response);
    const rejection = reject(request, allowed);
    if (rejection !== undefined) return sendError(request, response, rejection);
    handler.handle(request, response).catch((error: unknown) => {
      if (response.destroyed) return;
      if (response.headersSent) response.destroy();
      else sendError(request, response, rejectionFor(error));
    });
  });
}

class Handler {
  readonly #options: HttpOptions;
  readonly #requests: ConcurrencyLimiter;
  readonly #bytes: ConcurrencyLimiter;
  readonly #subscriptions = new ConcurrencyLimiter(SUBSCRIPTIONS, capacityError);
  readonly #order = new CallOrder();
  readonly #sessions = new Sessions({ gapTimeoutMs: GAP_TIMEOUT_MS });
  /** Requests of a session share a client, so that only one of them waits for the end of an outage. */
  readonly #clients = new WeakMap<Session, MemoryClient>();
  readonly #accepted = new AcceptedCallers();
  readonly #deadlines = new Deadlines();

  constructor(options: HttpOptions) {
    this.#options = options;
    const concurrency = options.concurrency ?? CONCURRENCY;
    this.#requests = new ConcurrencyLimiter(concurrency, capacityError);
    this.#bytes = new ConcurrencyLimiter({ ...concurrency, ...BYTES }, capacityError);
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const caller = readCaller(request);
    const { key, sessionId } = caller;
    const bytes = this.#bytes.slot(key);
    response.once('close', () => bytes.release());
    const gone = connectionSignal(request.socket, response, () => new HttpError(499, 'The client has left.'));
    const session = sessionId === undefined ? undefined : this.#sessions.open(`${key}\n${sessionId}`);
    const client = this.#openClient(caller, session);
    const turn = session?.arrive();
    const arrival = session === undefined ? this.#order.arrive(key) : undefined;
    try {
      const message = await readBody(request, {
        maxBytes: this.#options.maxBodyBytes,
        bytes,
        checkKey: () => this.#accepted.check(key, client, { duringOutage: 'reject' }),
      });
      await turn?.start(requestOrder(message));
      await arrival?.start(requestAccess(message));
      const check = () => this.#accepted.check(key, client, { duringOutage: 'accept' });
      await this.#requests.run(key, check, gone);
      if (isSubscription({ body: message, headers: request.headers }))
        return await this.#relay(caller, request, response, { message, gone });
      const reserved = mcpResponseBytes(message, SERVICE_LIMITS);
      await bytes.acquire(reserved);
      const answer = await this.#requests.run(key, () => answerFor(request, message, client, gone), gone);
      const body = Buffer.from(answer.body);
      bytes.replace(reserved, body.length);
      if (answer.isNewSession) response.setHeader('Mcp-Session-Id', this.#newSession(key, message));
      this.#send(request, response, answer.status, body);
    } finally {
      turn?.end();
      arrival?.end();
    }
  }

  /** Relays the changes that the service reports, until the client disconnects or the server stops. */
  async #relay(
    { key, apiKey, tenant = this.#options.client.tenant }: Caller,
    { socket }: IncomingMessage,
    response: ServerResponse,
    { message, gone }: { message: unknown; gone: AbortSignal },
  ): Promise<void> {
    const slot = this.#subscriptions.slot(key);
    response.once('close', () => slot.release());
    await slot.acquire(1);
    const { url } = this.#options.client;
    const { stopping } = this.#options;
    const ended = new AbortController();
    const signal = AbortSignal.any([gone, ended.signal]);
    const changes = await subscribeAtService({ url, apiKey, tenant }, message, signal);
    if (response.destroyed) return;
    const type = changes.headers.get('Content-Type') ?? '';
    // A connection that stays open after the stream would delay the end of the server.
    const headers = { 'Content-Type': type, 'X-Accel-Buffering': 'no', Connection: 'close' };
    response.writeHead(changes.status, headers);
    const events = Readable.fromWeb(changes.body as ReadableStream);
    events.on('error', () => response.destroy());
    events.pipe(response);
    const stop = () => {
      events
        .unpipe(response)
        .removeAllListeners('error')
        .on('error', () => {});
      ended.abort();
      response.end(lastEvent((message as { id: unknown }).id));
    };
    stopping?.addEventListener('abort', stop, { once: true });
    response.once('close', () => stopping?.removeEventListener('abort', stop));
    this.#watchPace(socket, response, Number.POSITIVE_INFINITY);
  }

  #send({ socket }: IncomingMessage, response: ServerResponse, status: number, body: Buffer): void {
    if (response.destroyed) return;
    const type = body.length === 0 ? {} : { 'Content-Type': 'application/json' };
    response.writeHead(status, { ...type, 'Content-Length': body.length });
    new PartsOfBuffer(body).pipe(response);
    this.#watchPace(socket, response, body.length);
  }

  /** Closes the connection of a client that reads its response too slowly. */
  #watchPace(socket: IncomingMessage['socket'], response: ServerResponse, bytes: number): void {
    const timeoutMs = this.#options.transferTimeoutMs ?? TRANSFER_TIMEOUT_MS;
    const pace = new ResponsePace(response, socket, timeoutMs);
    const start = (): Deadline =>
      this.#deadlines.start(timeoutMs, () => {
        if (pace.isTooSlow(bytes)) return void response.destroy();
        pace.startPeriod();
        deadline = start();
      });
    let deadline = start();
    response.once('close', () => this.#deadlines.clear(deadline));
  }

  #openClient({ apiKey, tenant }: Caller, session: Session | undefined): MemoryClient {
    const known = session === undefined ? undefined : this.#clients.get(session);
    if (known !== undefined) return known;
    const { url, tenant: defaultTenant, provenance } = this.#options.client;
    const client = createClient({ url, apiKey, tenant: tenant ?? defaultTenant, provenance });
    if (session !== undefined) this.#clients.set(session, client);
    return client;
  }

  #newSession(key: string, initialize: unknown): string {
    const id = crypto.randomUUID();
    const ownId = requestOrder(initialize);
    this.#sessions.open(`${key}\n${id}`, ownId === undefined ? undefined : ownId + 1);
    return id;
  }
}

function answerFor(
  { headers }: IncomingMessage,
  body: unknown,
  client: MemoryClient,
  signal: AbortSignal,
): Promise<McpResponse> {
  return respondToMessages(packageJson, serveMemory(client), { body, headers, signal });
}

function capacityError(rejection: Rejection): HttpError {
  if (rejection === 'key_at_limit')
    return new HttpError(429, 'The tenant has too many requests in flight. Wait for their responses.');
  return new HttpError(503, 'The service is at capacity. Try again shortly.');
}

function rejectionFor(error: unknown): HttpError {
  if (error instanceof HttpError) return error;
  if (error instanceof MemoryServiceError) {
    const isRejection = error.status !== undefined && error.status >= 400 && error.status < 500;
    return new HttpError(isRejection ? error.status : 503, withoutAddress(nameSettings(error.message)));
  }
  console.error(error);
  return new HttpError(500, 'The server failed. Its log says why.');
}

/** Removes the URL of the service, which only the operator may see. */
function withoutAddress(message: string): string {
  return message.replace(/^(The memory service) at \S+/, '$1');
}

function readCaller(request: IncomingMessage): Caller {
  const apiKey = bearerToken(request);
  const tenant = tenantHeader(request);
  const key = `${apiKey ?? ''}\n${tenant ?? ''}`;
  const sessionId = request.headers['mcp-session-id'];
  return { apiKey, tenant, key, sessionId: sessionId?.toString() };
}

function reject(request: IncomingMessage, allowed: ReadonlySet<string>): HttpError | undefined {
  const { host, origin, authorization, 'x-tenant-id': tenant } = request.headers;
  // A web page can let its own host name resolve to this address, and make a local user's browser send requests (DNS
  // rebinding).
  if (!isAllowed(`http://${host}`, allowed))
    return new HttpError(403, 'This host is not allowed. See --allowed-host.');
  if (origin !== undefined && !isAllowed(origin, allowed))
    return new HttpError(403, 'This origin is not allowed.');
  if (request.url?.replace(/\?.*/, '') !== '/mcp') return new HttpError(404, 'The MCP endpoint is /mcp.');
  if (request.method !== 'POST')
    return new HttpError(405, 'Send requests with POST: this server keeps no sessions.');
  if (authorization !== undefined && bearerToken(request) === undefined) {
    return new HttpError(401, 'Send the API key as `Authorization: Bearer <key>`.');
  }
  if (tenant !== undefined && tenantHeader(request) === undefined)
    return new HttpError(400, 'X-Tenant-Id is not a tenant id.');
  return undefined;
}

/**
 * Whether a request is a liveness probe. Probes are handled before the host check, because an orchestrator sends them
 * to an IP address.
 */
function isLivenessProbe({ method, url = '' }: IncomingMessage): boolean {
  return (method === 'GET' || method === 'HEAD') && url.replace(/\?.*/, '') === '/healthz';
}

function sendLiveness(response: ServerResponse): void {
  response.writeHead(200, { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' });
  response.end('{"status":"ok"}');
}

function isAllowed(url: string, allowed: ReadonlySet<string>): boolean {
  return URL.canParse(url) && allowed.has(new URL(url).hostname);
}

function bearerToken({ headers }: IncomingMessage): string | undefined {
  return /^Bearer +([\x21-\x7e]+)$/i.exec(headers.authorization ?? '')?.[1];
}

function tenantHeader({ headers }: IncomingMessage): string | undefined {
  const tenant = headers['x-tenant-id'];
  return typeof tenant === 'string' && HEADER_VALUE.test(tenant) ? tenant : undefined;
}

function sendError(request: IncomingMessage, response: ServerResponse, error: HttpError): void {
  const { status, message, rpcCode: code } = error;
  if (status === 401) response.setHeader('WWW-Authenticate', 'Bearer');
  if (status === 405) response.setHeader('Allow', 'POST');
  if (status === 429 || status === 503) response.setHeader('Retry-After', '1');
  // The rest of the body is not read.
  if (!request.complete) response.setHeader('Connection', 'close');
  response.writeHead(status, { 'Content-Type': 'application/json' });
  response.end(JSON.stringify({ jsonrpc: '2.0', error: { code, message }, id: null }));
}
