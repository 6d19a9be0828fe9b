import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import { isInitializeRequest } from '@modelcontextprotocol/sdk/types.js';
import { createMemoryServer, type ServedMemory, type ServerName } from './server.ts';

/** Maximum number of messages in a JSON-RPC batch. The limit equals the number of calls in an array for `/execute`. */
export const MAX_MESSAGES = 32;

/** Returns a message if a batch has too few or too many messages. */
export function batchProblem(body: unknown): string | undefined {
  if (!Array.isArray(body) || (body.length > 0 && body.length <= MAX_MESSAGES)) return undefined;
  return `The batch holds ${body.length} messages, and 1 to ${MAX_MESSAGES} are allowed.`;
}

/** The JSON-RPC error code for an invalid request. */
export const INVALID_REQUEST = -32600;

/** The parts of an HTTP request that the transport reads. */
interface McpRequest {
  body: unknown;
  /** The `Accept` header. Undefined means that the client accepts both JSON and event streams. */
  accept: string | undefined;
  protocolVersion: string | undefined;
  /** Aborts when the exchange must end. */
  signal: AbortSignal;
}

export interface McpResponse {
  status: number;
  /** JSON, or an empty string if the messages have no response. */
  body: string;
  /** The methods that the messages call, limited to the methods of MCP. */
  methods: string;
  isNewSession: boolean;
}

/** The methods that may appear in the log. Callers could send any text as a method. */
const METHODS = new Set([
  'initialize',
  'ping',
  'tools/list',
  'tools/call',
  'prompts/list',
  'prompts/get',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'notifications/initialized',
  'notifications/cancelled',
]);

/** Responds to one HTTP request with a single message or a batch. The function keeps no state between requests. */
export async function answerMessages(
  name: ServerName,
  memory: ServedMemory,
  { body, accept, protocolVersion, signal }: McpRequest,
): Promise<McpResponse> {
  const problem = batchProblem(body);
  if (problem !== undefined) {
    const error = { jsonrpc: '2.0', error: { code: INVALID_REQUEST, message: problem }, id: null };
    return { status: 400, body: JSON.stringify(error), methods: methodsOf(body), isNewSession: false };
  }
  const server = createMemoryServer(name, memory, await instructionsFor(memory, body));
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
  // The transport never responds after a disconnect, so this promise ends the exchange.
  const gone = new Promise<Response>((resolve) => {
    signal.addEventListener('abort', () => resolve(new Response(null, { status: 499 })), { once: true });
  });
  try {
    await server.connect(transport);
    const headers = new Headers({
      'Content-Type': 'application/json',
      Accept: accept ?? 'application/json, text/event-stream',
    });
    if (protocolVersion !== undefined) headers.set('Mcp-Protocol-Version', protocolVersion);
    const request = new Request('http://localhost/mcp', { method: 'POST', headers });
    const response = await Promise.race([transport.handleRequest(request, { parsedBody: body }), gone]);
    return {
      status: response.status,
      body: await response.text(),
      methods: methodsOf(body),
      isNewSession: response.status === 200 && isInitializeRequest(body),
    };
  } finally {
    await server.close();
  }
}

/** Returns the instructions, which MCP sends only in the response to `initialize`. */
async function instructionsFor(memory: ServedMemory, body: unknown): Promise<string | undefined> {
  return isInitializeRequest(body) ? memory.instructions() : undefined;
}

function methodsOf(body: unknown): string {
  const methods = [body].flat().map((message) => {
    const method: unknown =
      typeof message === 'object' && message !== null && 'method' in message && message.method;
    return typeof method === 'string' && METHODS.has(method) ? method : 'unknown';
  });
  return [...new Set(methods)].join(',');
}
