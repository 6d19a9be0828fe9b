import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { isInitializeRequest } from '@modelcontextprotocol/sdk/types.js';
import { type MemoryClient, type MemoryClientOptions, MemoryServiceError } from 'memory-service-client';
import {
  ConcurrencyLimiter,
  type ConcurrencyLimits,
  type Refusal,
} from '../../../src/util/concurrency-limiter.ts';
import { HttpError } from './http-error.ts';
import { instructionsOf } from './instructions.ts';
import { readBody } from './request-body.ts';
import { createMemoryServer } from './server.ts';
import { Sessions } from './sessions.ts';
import { createClient, nameSettings } from './settings.ts';

const LOOPBACK = ['localhost', '127.0.0.1', '[::1]'];
/** A token or a tenant id as a header can carry it. */
const HEADER_VALUE = /^[\x21-\x7e]+$/;
const MEBIBYTE = 2 ** 20;
/** How long a client has to send a request, and to take a response. */
const TRANSFER_TIMEOUT_MS = 60_000;

export interface HttpOptions {
  /** Where the service is. The callers bring the keys. */
  client: Pick<MemoryClientOptions, 'url' | 'tenant'>;
  /** Names under which the server is reached besides those of the loopback interface, without ports. */
  allowedHosts: readonly string[];
  maxBodyBytes: number;
  /** Requests that run at once; `perKey` is per caller. By default as many as the service runs. */
  concurrency?: ConcurrencyLimits;
}

const CONCURRENCY = { total: 64, perKey: 32, maxWaiting: 1000, maxWaitMs: 1000 };
/** Bytes of bodies and responses in memory. Parsing and sending a body takes several times its size. */
const BYTES = { ...CONCURRENCY, total: 64 * MEBIBYTE, perKey: 16 * MEBIBYTE };

/** Whose request it is, and what it counts against. */
interface Caller {
  apiKey: string | undefined;
  tenant: string | undefined;
  key: string;
  sessionId: string | undefined;
}

/**
 * Serves MCP at `/mcp` over streamable HTTP. Each request carries its caller's token, which goes to the service, and nothing is kept
 * between requests, so any replica can answer.
 */
export function createHttpServer(options: HttpOptions): Server {
  const allowed = new Set([...LOOPBACK, ...options.allowedHosts]);
  const handler = new Handler(options);
  const timeouts = {
    headersTimeout: 10_000,
    requestTimeout: TRANSFER_TIMEOUT_MS,
    connectionsCheckingInterval: 5000,
  };
  return createServer(timeouts, (request, response) => {
    const refusal = refuse(request, allowed);
    if (refusal !== undefined) return sendError(request, response, refusal);
    handler.handle(request, response).catch((error: unknown) => {
      if (response.destroyed) return;
      if (response.headersSent) response.destroy();
      else sendError(request, response, refusalFor(error));
    });
  });
}

class Handler {
  readonly #options: HttpOptions;
  readonly #requests: ConcurrencyLimiter;
  readonly #bytes = new ConcurrencyLimiter(BYTES, capacityError);
  readonly #sessions = new Sessions();

  constructor(options: HttpOptions) {
    this.#options = options;
    this.#requests = new ConcurrencyLimiter(options.concurrency ?? CONCURRENCY, capacityError);
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const {
      maxBodyBytes: maxBytes,
      client: { url, tenant: defaultTenant },
    } = this.#options;
    const { apiKey, tenant = defaultTenant, key, sessionId } = callerOf(request);
    const bytes = this.#bytes.slot(key);
    response.once('close', () => bytes.release());
    const newClient = () => createClient({ url, apiKey, tenant });
    const session =
      sessionId === undefined ? undefined : this.#sessions.open(`${key}\n${sessionId}`, newClient);
    const client = session?.client ?? newClient();
    const body = readBody(request, { maxBytes, bytes, checkKey: () => checkKey(client) });
    const run = async (message: unknown) => {
      if (isInitializeRequest(message)) {
        const id = crypto.randomUUID();
        const ownId = numericId(message);
        const nextId = ownId === undefined ? undefined : ownId + 1;
        this.#sessions.open(`${key}\n${id}`, newClient, nextId);
        response.setHeader('Mcp-Session-Id', id);
      }
      await this.#requests.run(key, () => answer(request, response, message, client));
    };
    await (session === undefined ? run(await body) : session.run(body, numericId, run));
    bytes.add(response.writableLength);
    if (!response.writableFinished) response.setTimeout(TRANSFER_TIMEOUT_MS, () => response.destroy());
  }
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  message: unknown,
  client: MemoryClient,
): Promise<void> {
  if (response.destroyed) return;
  const closed = new Promise((resolve) => response.once('close', resolve));
  const isStart = isInitializeRequest(message);
  const server = createMemoryServer(client, isStart ? await instructionsOf(client) : undefined);
  const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true });
  // Also ends the calls of a caller that has gone, whose request the transport never answers.
  closed.then(() => server.close()).catch(console.error);
  await server.connect(transport);
  await Promise.race([transport.handleRequest(request, response, message), closed]);
}

/** @throws HttpError when the service does not accept the key */
async function checkKey(client: MemoryClient): Promise<void> {
  const block = { type: 'tool_use', id: crypto.randomUUID(), name: 'memory', input: {} } as const;
  // An input without a command: the service authenticates the caller, and does nothing else.
  await client.execute(block);
}

function capacityError(refusal: Refusal): HttpError {
  if (refusal === 'key_at_limit')
    return new HttpError(429, 'The tenant has too many requests in flight. Wait for their responses.');
  return new HttpError(503, 'The service is at capacity. Try again shortly.');
}

function refusalFor(error: unknown): HttpError {
  if (error instanceof HttpError) return error;
  if (error instanceof MemoryServiceError) {
    const isRefusal = error.status !== undefined && error.status >= 400 && error.status < 500;
    return new HttpError(isRefusal ? error.status : 503, nameSettings(error.message));
  }
  console.error(error);
  return new HttpError(500, 'The server failed. Its log says why.');
}

function callerOf(request: IncomingMessage): Caller {
  const apiKey = bearerToken(request);
  const tenant = tenantHeader(request);
  const key = `${apiKey ?? ''}\n${tenant ?? ''}`;
  const sessionId = request.headers['mcp-session-id'];
  return { apiKey, tenant, key, sessionId: sessionId?.toString() };
}

/** The id by which a request is ordered. */
function numericId(message: unknown): number | undefined {
  const isRequest = typeof message === 'object' && message !== null && 'method' in message && 'id' in message;
  return isRequest && Number.isSafeInteger(message.id) ? Number(message.id) : undefined;
}

function refuse(request: IncomingMessage, allowed: ReadonlySet<string>): HttpError | undefined {
  const { host, origin, authorization, 'x-tenant-id': tenant } = request.headers;
  // A web page can point a name of its own to this address, and so make the browser of someone here send requests (DNS rebinding).
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
