import {
  classifyInboundRequest,
  createMcpHandler,
  isInitializeRequest,
  preloadSchemas,
  type ServerEventBus,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import { quality } from '../../core/http/accept.ts';
import { isObject } from '../../core/lib/json.ts';
import {
  createMemoryServer,
  createServer,
  type Era,
  type ServedMemory,
  type ServerName,
} from './mcp-server.ts';
import { checkForm } from './params.ts';

/** Message limit for a JSON-RPC batch, equal to the call limit for an `/execute` array. */
export const MAX_MESSAGES = 32;

/** Returns a message if a batch has too few or too many messages. */
export function batchProblem(body: unknown): string | undefined {
  if (!Array.isArray(body) || (body.length > 0 && body.length <= MAX_MESSAGES)) return undefined;
  return `The batch holds ${body.length} messages, and 1 to ${MAX_MESSAGES} are allowed.`;
}

/** JSON-RPC error codes. */
export const INVALID_REQUEST = -32600;
const INVALID_PARAMS = -32602;

/** The protocol's headers. Servers compare them with the body. */
export const PROTOCOL_HEADERS = ['mcp-protocol-version', 'mcp-method', 'mcp-name'] as const;

/** HTTP request parts that the protocol uses. */
export interface McpRequest {
  body: unknown;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Aborts when the exchange must end. */
  signal: AbortSignal;
}

export interface McpResponse {
  status: number;
  /** JSON, or an empty string if the messages have no response. */
  body: string;
  /** The methods that the messages call, limited to MCP methods. */
  methods: string;
  isNewSession: boolean;
}

const SUBSCRIBE = 'subscriptions/listen';
/** File limit for one subscription. */
const MAX_SUBSCRIBED_FILES = 256;

/** The methods that may appear in the log. Callers could send any text as a method. */
const METHODS = new Set([
  'initialize',
  'ping',
  'server/discover',
  'tools/list',
  'tools/call',
  'prompts/list',
  'prompts/get',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  SUBSCRIBE,
  'notifications/initialized',
  'notifications/cancelled',
]);

/** Builds the schemas for all protocol versions, so that the first request does not wait for them. */
export function warmUp(): void {
  preloadSchemas();
}

/** Responds to one HTTP request with a single message or a batch. The function keeps no state between requests. */
export async function respondToMessages(
  name: ServerName,
  memory: ServedMemory,
  request: McpRequest,
): Promise<McpResponse> {
  const { body } = request;
  const era = requestEra(request);
  const response = rejection(request) ?? (await respond(name, memory, era, request));
  return {
    status: response.status,
    body: await response.text(),
    methods: methodNames(body),
    isNewSession: response.status === 200 && era === 'legacy' && isInitializeRequest(body),
  };
}

/** Whether a request opens a change stream, which only hosts with protocol version 2026-07-28 or later can do. */
export function isSubscription(request: Omit<McpRequest, 'signal'>): boolean {
  const { body } = request;
  return isObject(body) && body.method === SUBSCRIBE && requestEra(request) === 'modern';
}

/** The files and the list that a subscription names. */
export interface SubscribedFiles {
  resourceSubscriptions: string[];
  resourcesListChanged: boolean;
}

/** Returns a subscription's files. The SDK rejects a filter with other values. */
function subscriptionFilter(body: unknown): SubscribedFiles {
  const params = isObject(body) && isObject(body.params) ? body.params : {};
  const { resourcesListChanged, resourceSubscriptions: uris } = isObject(params.notifications)
    ? params.notifications
    : {};
  return {
    resourcesListChanged: resourcesListChanged === true,
    resourceSubscriptions: Array.isArray(uris) ? uris.filter((uri) => typeof uri === 'string') : [],
  };
}

export interface Subscription {
  /** An event stream, or JSON if the request was rejected. */
  response: Response;
  /** Ends the stream with the request's result. */
  end(): Promise<void>;
}

/**
 * Opens a change stream.
 *
 * @param watch returns a source for changes to these files
 */
export async function openSubscription(
  name: ServerName,
  watch: (files: SubscribedFiles) => Promise<ServerEventBus>,
  request: McpRequest,
): Promise<Subscription> {
  const { body } = request;
  const rejected = rejection(request);
  if (rejected !== undefined) return { response: rejected, end: async () => {} };
  const bus = await watch(subscriptionFilter(body));
  const handler = createMcpHandler(() => createServer(name, 'modern'), { legacy: 'reject', bus });
  const response = await handler.fetch(webRequest(request), { parsedBody: body });
  return { response, end: () => handler.close() };
}

/** Returns the response to a request that no server can handle. */
function rejection({ body, headers: { accept } }: McpRequest): Response | undefined {
  const problem = batchProblem(body);
  if (problem !== undefined) return errorResponse(400, INVALID_REQUEST, problem);
  // The response to a subscription is an event stream, and every other response is JSON.
  const type = isObject(body) && body.method === SUBSCRIBE ? 'text/event-stream' : 'application/json';
  if (accept !== undefined && quality(String(accept), type) === 0)
    return errorResponse(406, INVALID_REQUEST, `The response is ${type}, which the header Accept excludes.`);
  if (!isObject(body)) return undefined;
  const { id } = body;
  if (('result' in body || 'error' in body) && !('method' in body))
    return errorResponse(400, INVALID_REQUEST, 'The server sends no requests, so it accepts no responses.');
  const malformed = isRequest(body) ? checkForm(body.params) : undefined;
  if (malformed !== undefined) return errorResponse(400, INVALID_PARAMS, malformed, id);
  const files = body.method === SUBSCRIBE ? subscriptionFilter(body).resourceSubscriptions : [];
  if (files.length <= MAX_SUBSCRIBED_FILES) return undefined;
  const tooMany = `\`resourceSubscriptions\` names ${files.length} files, and at most ${MAX_SUBSCRIBED_FILES} are allowed.`;
  return errorResponse(400, INVALID_PARAMS, tooMany, id);
}

/** Whether a message is a request, with parameters in any form. */
function isRequest({ jsonrpc, id, method }: Record<string, unknown>): boolean {
  const isIdentified = typeof id === 'string' || Number.isSafeInteger(id);
  return jsonrpc === '2.0' && isIdentified && typeof method === 'string';
}

function errorResponse(status: number, code: number, message: string, id: unknown = null): Response {
  return Response.json({ jsonrpc: '2.0', error: { code, message }, id }, { status });
}

async function respond(
  name: ServerName,
  memory: ServedMemory,
  era: Era,
  request: McpRequest,
): Promise<Response> {
  const { body, signal } = request;
  const server = createMemoryServer(name, memory, era, await instructionsFor(memory, body));
  if (era === 'modern') {
    const handler = createMcpHandler(() => server, { legacy: 'reject' });
    return handler.fetch(webRequest(request), { parsedBody: body });
  }
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
  // The transport never responds after a disconnect, so this promise ends the exchange.
  const gone = new Promise<Response>((resolve) => {
    signal.addEventListener('abort', () => resolve(new Response(null, { status: 499 })), { once: true });
  });
  try {
    await server.connect(transport);
    return await Promise.race([transport.handleRequest(webRequest(request), { parsedBody: body }), gone]);
  } finally {
    await server.close();
  }
}

/** Returns a request's era. The modern era includes requests that mix both eras, and rejects them. */
function requestEra({ body, headers }: Omit<McpRequest, 'signal'>): Era {
  const [version, method, name] = PROTOCOL_HEADERS.map((header) => headers[header]?.toString());
  const { kind } = classifyInboundRequest({
    httpMethod: 'POST',
    body,
    ...(version !== undefined && { protocolVersionHeader: version }),
    ...(method !== undefined && { mcpMethodHeader: method }),
    ...(name !== undefined && { mcpNameHeader: name }),
  });
  return kind === 'legacy' ? 'legacy' : 'modern';
}

function webRequest({ headers: given, signal }: McpRequest): Request {
  const headers = new Headers({
    'Content-Type': 'application/json',
    Accept: 'application/json, text/event-stream',
  });
  for (const header of PROTOCOL_HEADERS) {
    const value = given[header];
    if (value !== undefined) headers.set(header, value.toString());
  }
  return new Request('http://localhost/mcp', { method: 'POST', headers, signal });
}

/** Returns the instructions, which MCP sends only when a host connects. */
async function instructionsFor(memory: ServedMemory, body: unknown): Promise<string | undefined> {
  const isConnecting = isObject(body) && (body.method === 'initialize' || body.method === 'server/discover');
  return isConnecting ? memory.instructions() : undefined;
}

function methodNames(body: unknown): string {
  const methods = [body].flat().map((message) => {
    const method: unknown = isObject(message) && message.method;
    return typeof method === 'string' && METHODS.has(method) ? method : 'unknown';
  });
  return [...new Set(methods)].join(',');
}
