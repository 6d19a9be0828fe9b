import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { MemoryClient, type MemoryClientOptions } from 'memory-service-client';
import { createMemoryServer } from './server.ts';

/** The service has the limit that counts; this one bounds what is read before. */
const MAX_REQUEST_BYTES = 16 * 1024 * 1024;
const LOOPBACK = ['localhost', '127.0.0.1', '[::1]'];
/** A token or a tenant id as a header can carry it. */
const HEADER_VALUE = /^[\x21-\x7e]+$/;

export interface HttpOptions {
  /** Where the service is. The callers bring the keys. */
  client: Pick<MemoryClientOptions, 'url' | 'tenant'>;
  /** Names under which the server is reached besides those of the loopback interface, without ports. */
  allowedHosts: readonly string[];
}

/**
 * Serves MCP at `/mcp` over streamable HTTP. It keeps no sessions: each request carries its caller's token, which goes to the service, so any
 * replica can answer it.
 */
export function createHttpServer({ client, allowedHosts }: HttpOptions): Server {
  const allowed = new Set([...LOOPBACK, ...allowedHosts]);
  return createServer((request, response) => {
    const refusal = refuse(request, allowed);
    if (refusal !== undefined) return sendError(response, ...refusal);
    answer(request, response, client).catch((error: unknown) => {
      console.error(error);
      if (response.headersSent) response.destroy();
      else sendError(response, 500, 'The server failed. Its log says why.');
    });
  });
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { url, tenant }: HttpOptions['client'],
): Promise<void> {
  const memory = new MemoryClient({
    url,
    apiKey: bearerToken(request),
    tenant: tenantHeader(request) ?? tenant,
  });
  const server = createMemoryServer(memory);
  const transport = new StreamableHTTPServerTransport({
    enableJsonResponse: true,
    maxRequestBodySize: MAX_REQUEST_BYTES,
  });
  // Also ends the calls of a caller that has gone.
  response.on('close', () => void server.close());
  await server.connect(transport);
  await transport.handleRequest(request, response);
}

type Refusal = [status: number, message: string];

function refuse(request: IncomingMessage, allowed: ReadonlySet<string>): Refusal | undefined {
  const { host, origin, authorization, 'x-tenant-id': tenant } = request.headers;
  // A web page can point a name of its own to this address, and so make the browser of someone here send requests (DNS rebinding).
  if (!isAllowed(`http://${host}`, allowed)) return [403, 'This host is not allowed. See --allowed-host.'];
  if (origin !== undefined && !isAllowed(origin, allowed)) return [403, 'This origin is not allowed.'];
  if (request.url?.replace(/\?.*/, '') !== '/mcp') return [404, 'The MCP endpoint is /mcp.'];
  if (request.method !== 'POST') return [405, 'Send requests with POST: this server keeps no sessions.'];
  if (authorization !== undefined && bearerToken(request) === undefined) {
    return [401, 'Send the API key as `Authorization: Bearer <key>`.'];
  }
  if (tenant !== undefined && tenantHeader(request) === undefined)
    return [400, 'X-Tenant-Id is not a tenant id.'];
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

function sendError(response: ServerResponse, status: number, message: string): void {
  if (status === 401) response.setHeader('WWW-Authenticate', 'Bearer');
  if (status === 405) response.setHeader('Allow', 'POST');
  response.writeHead(status, { 'Content-Type': 'application/json' });
  response.end(JSON.stringify({ jsonrpc: '2.0', error: { code: -32000, message }, id: null }));
}
