import {
  Client as ModernClient,
  StreamableHTTPClientTransport as ModernTransport,
} from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { onTestFinished } from 'vitest';

const META = 'io.modelcontextprotocol';

const path = '/memories/user.md';
export const create = { command: 'create', path, file_text: 'Lives in Lyon.' };
export const view = { command: 'view', path };
export const VIEWED = "Here's the content of /memories/user.md with line numbers:\n     1\tLives in Lyon.";
export const MISSING = 'The path /memories/user.md does not exist. Please provide a valid path.';
export const text = (words: string, isError = false) => ({
  content: [{ type: 'text', text: words }],
  isError,
});

export const message = (method: string, params?: object, id: number | string = 1) => ({
  jsonrpc: '2.0',
  id,
  method,
  ...(params && { params }),
});
export const memoryCall = (input: object, id?: number) =>
  message('tools/call', { name: 'memory', arguments: input }, id);
export const initialize = message(
  'initialize',
  { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
  0,
);

export const requestHeaders = (key?: string, more: Record<string, string> = {}): Record<string, string> => ({
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
  ...(key && { authorization: `Bearer ${key}` }),
  ...more,
});

/** Returns a request in protocol version 2026-07-28. */
export function modern(method: string, params: { _meta?: object; [field: string]: unknown } = {}, id = 1) {
  const { _meta, ...rest } = params;
  const meta = {
    [`${META}/protocolVersion`]: '2026-07-28',
    [`${META}/clientInfo`]: { name: 'test', version: '1' },
    [`${META}/clientCapabilities`]: {},
    ..._meta,
  };
  return { jsonrpc: '2.0', id, method, params: { ...rest, _meta: meta } };
}

/** Returns the headers that repeat parts of a request in protocol version 2026-07-28. */
export function headersFor({ method, params }: ReturnType<typeof modern>): Record<string, string> {
  const name = 'name' in params ? params.name : 'uri' in params ? params.uri : undefined;
  return {
    'mcp-protocol-version': String((params._meta as Record<string, unknown>)[`${META}/protocolVersion`]),
    'mcp-method': method,
    ...(typeof name === 'string' && { 'mcp-name': name }),
  };
}

/** @param url service URL */
export async function sendMcp(url: string, body: string | object, headers: Record<string, string>) {
  const response = await fetch(`${url}/mcp`, {
    method: 'POST',
    headers,
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  const received = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    body: received === '' ? undefined : JSON.parse(received),
  };
}

export async function connectMcp(url: string, headers: Record<string, string>): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' });
  onTestFinished(() => client.close());
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers } }),
  );
  return client;
}

/** Connects the official client in its second major version, with protocol version 2026-07-28. */
export async function connectModern(url: string, headers: Record<string, string>): Promise<ModernClient> {
  const options = { versionNegotiation: { mode: { pin: '2026-07-28' } } } as const;
  const client = new ModernClient({ name: 'test', version: '1' }, options);
  onTestFinished(() => client.close());
  await client.connect(new ModernTransport(new URL(`${url}/mcp`), { requestInit: { headers } }));
  return client;
}
