import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import { isInitializeRequest } from '@modelcontextprotocol/sdk/types.js';
import { createMemoryServer, type ServedMemory, type ServerName } from './server.ts';

/** Messages in a JSON-RPC batch: as many as `/execute` takes calls in an array. */
export const MAX_MESSAGES = 32;

/** What is wrong with a batch. */
export function batchProblem(body: unknown): string | undefined {
  if (!Array.isArray(body) || (body.length > 0 && body.length <= MAX_MESSAGES)) return undefined;
  return `The batch holds ${body.length} messages, and 1 to ${MAX_MESSAGES} are allowed.`;
}

/** The code that JSON-RPC has for it. */
export const INVALID_REQUEST = -32600;

/** What the transport reads of a request. */
interface McpRequest {
  /** As parsed. */
  body: unknown;
  /** Undefined: whatever the server sends. */
  accept: string | undefined;
  protocolVersion: string | undefined;
  /** Ends the exchange. */
  signal: AbortSignal;
}

export interface McpResponse {
  status: number;
  /** JSON; empty for messages that have no response. */
  body: string;
  /** The methods that the messages called, as far as MCP has them. */
  methods: string;
  isNewSession: boolean;
}

/** The methods that may appear in the log: callers could send anything. */
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

/** Answers the messages of one HTTP request: a single one, or a batch. Keeps no state. */
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
  // The transport answers no caller that has gone.
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

/** Only a host that connects is told. */
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
