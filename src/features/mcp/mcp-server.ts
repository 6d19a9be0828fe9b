import {
  type CacheHint,
  ProtocolError,
  ProtocolErrorCode,
  type Resource,
  ResourceNotFoundError,
  Server,
  type ServerCapabilities,
  type Tool,
  type Transport,
} from '@modelcontextprotocol/server';
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/server/validators/ajv';
import type { FeatureText } from '../../core/agents/feature-text.ts';
import { SerialQueue } from '../../core/lib/queues.ts';
import { timeSliced } from '../../core/lib/time-slice.ts';
import { MEMORY_PROTOCOL, TIDINESS } from '../../core/memory/protocol.ts';
import { callTool, type ExecuteTool, type ToolResult } from './mcp-call.ts';
import { type CheckedParams, checkParams } from './params.ts';
import { parseUri, toUri } from './resource-uri.ts';
import { TOOLS } from './tools.ts';

/** A shared validator. Otherwise, each request would create its own validator, which takes longer than most calls. */
const jsonSchemaValidator = new AjvJsonSchemaValidator();

export interface ServerName {
  name: string;
  version: string;
}

/** A text about the memory, served as a resource and as a prompt. */
export interface ServedText extends Omit<FeatureText, 'read'> {
  read(): Promise<string>;
}

export interface ServedMemory {
  /** Returns the caller's tools. */
  tools(): Promise<readonly Tool[]>;
  execute: ExecuteTool;
  /** Returns a file's content; an error with its reason if there is no file at the path. */
  read(path: string): Promise<ToolResult>;
  /** Returns the file paths in two levels, without hidden files, one per line. */
  list(): Promise<ToolResult>;
  /** Returns text for the system prompt. */
  instructions(): Promise<string>;
  /** Texts from other features. */
  texts: readonly ServedText[];
}

/** `legacy` means the protocol versions with `initialize`, up to 2025-11-25. */
export type Era = 'modern' | 'legacy';

/** Time in which a host may reuse lists that change only with the service version. */
const STATIC: CacheHint = { ttlMs: 5 * 60_000, cacheScope: 'public' };
/** The caller's key decides about the mounts in the instructions, and about the tools. */
const DISCOVERED: CacheHint = { ttlMs: 60_000, cacheScope: 'private' };
/** Another agent may change a file at any time. */
const CHANGING: CacheHint = { ttlMs: 0, cacheScope: 'private' };

const CACHE_HINTS = {
  'server/discover': DISCOVERED,
  'tools/list': DISCOVERED,
  'prompts/list': STATIC,
  'resources/templates/list': STATIC,
  'resources/list': CHANGING,
  'resources/read': CHANGING,
};

/** Tools and prompts never change while the server runs. Only modern hosts can subscribe to file changes. */
const CAPABILITIES: Readonly<Record<Era, ServerCapabilities>> = {
  legacy: { tools: {}, prompts: {}, resources: {} },
  modern: { tools: {}, prompts: {}, resources: { subscribe: true, listChanged: true } },
};

const PROTOCOL = {
  name: 'memory-protocol',
  title: 'Memory protocol',
  description: 'Asks the model to use its memory, and to keep it tidy.',
};

const FILE = {
  title: 'File in memory',
  description: 'A file of the memory, as text.',
  mimeType: 'text/plain',
};

const LEGACY_METHODS = new Set(['initialize', 'ping']);
/** Error code for a missing resource before protocol version 2026-07-28. */
const LEGACY_RESOURCE_NOT_FOUND = -32002;

/**
 * Creates an MCP server for one memory, not yet connected. Both `/mcp` and `memory-service-mcp` use it.
 *
 * @param instructions text that describes the memory, sent to the host when it connects
 */
export function createMemoryServer(
  name: ServerName,
  memory: ServedMemory,
  era: Era,
  instructions?: string,
): Server {
  const server = createServer(name, era, instructions);
  handleTools(server, memory);
  handlePrompts(server, memory);
  handleResources(server, memory);
  return server;
}

/** Creates a server that names its capabilities and handles no request itself. */
export function createServer(
  { name, version }: ServerName,
  era: Era,
  instructions = MEMORY_PROTOCOL,
): Server {
  return new MemoryServer(
    { name, title: 'Memory', version },
    { capabilities: CAPABILITIES[era], cacheHints: CACHE_HINTS, instructions, jsonSchemaValidator },
  );
}

/**
 * A server that checks request parameters itself, and rejects invalid parameters with one sentence. The SDK's `Server`
 * leaves the checks and the capabilities to this class, unlike `McpServer`.
 */
class MemoryServer extends Server {
  override async connect(transport: Transport): Promise<void> {
    await super.connect(transport);
    const deliver = transport.onmessage;
    transport.onmessage = (message, extra) => {
      if (!('id' in message && 'method' in message)) return deliver?.(message, extra);
      const checked = this.#check(message);
      if (checked === undefined) return deliver?.(message, extra);
      if ('params' in checked) return deliver?.({ ...message, ...checked }, extra);
      const error = { code: ProtocolErrorCode.InvalidParams, message: checked.problem };
      void transport.send({ jsonrpc: '2.0', id: message.id, error });
    };
    if (!this.#isModern) this.#restoreCodes(transport);
  }

  get #isModern(): boolean {
    return this.getCapabilities().resources?.subscribe === true;
  }

  /** Leaves methods that the era does not have to the SDK. */
  #check({ method, params }: { method: string; params?: unknown }): CheckedParams | undefined {
    return this.#isModern && LEGACY_METHODS.has(method) ? undefined : checkParams(method, params);
  }

  /** For a missing resource, the SDK sends the 2026-07-28 error code in all versions. */
  #restoreCodes(transport: Transport): void {
    const send = transport.send.bind(transport);
    transport.send = (message, options) => {
      if (!('error' in message) || !isMissingResource(message.error)) return send(message, options);
      const error = { ...message.error, code: LEGACY_RESOURCE_NOT_FOUND };
      return send({ ...message, error }, options);
    };
  }
}

function isMissingResource({ code, data }: { code: number; data?: unknown }): boolean {
  return (
    code === ProtocolErrorCode.InvalidParams && typeof data === 'object' && data !== null && 'uri' in data
  );
}

/** Handles calls without checking their input, because the service returns its own messages for the model. */
function handleTools(server: Server, memory: ServedMemory): void {
  // Hosts send several calls at the same time, and a later call may view a file that an earlier call creates.
  const calls = new SerialQueue();
  server.setRequestHandler('tools/list', async () => ({ tools: [...(await memory.tools())] }));
  server.setRequestHandler('tools/call', async ({ params }, { mcpReq: { signal } }) => {
    const { name, arguments: input, _meta: meta } = params;
    // A call to a tool that every caller has needs no lookup.
    if (!isIn(TOOLS, name)) {
      const tools = await memory.tools();
      const names = tools.map((tool) => tool.name).join(' and ');
      if (!isIn(tools, name)) throw invalidParams(`There is no tool ${name}. The tools are ${names}.`);
    }
    return calls.run('', () => callTool(memory.execute, { name, input, meta, signal }));
  });
}

function isIn(tools: readonly Tool[], name: string): boolean {
  return tools.some((tool) => tool.name === name);
}

function handlePrompts(server: Server, memory: ServedMemory): void {
  const protocol = { ...PROTOCOL, read: async () => `${await memory.instructions()}\n\n${TIDINESS}` };
  const prompts = [protocol, ...memory.texts];
  server.setRequestHandler('prompts/list', () => ({
    prompts: prompts.map(({ name, title, description }) => ({ name, title, description })),
  }));
  server.setRequestHandler('prompts/get', async ({ params: { name } }) => {
    const prompt = prompts.find((each) => each.name === name);
    if (prompt === undefined) {
      const names = prompts.map((each) => each.name).join(' and ');
      throw invalidParams(`There is no prompt ${name}. The prompts are ${names}.`);
    }
    const text = await prompt.read();
    return { description: prompt.description, messages: [{ role: 'user', content: { type: 'text', text } }] };
  });
}

function handleResources(server: Server, memory: ServedMemory): void {
  server.setRequestHandler('resources/list', async () => {
    const { content, isError } = await memory.list();
    if (isError) throw new ProtocolError(ProtocolErrorCode.InternalError, content);
    const resources: Resource[] = memory.texts.map(({ uri, name, title, description }) => ({
      ...{ uri, name, title, description },
      mimeType: FILE.mimeType,
    }));
    for await (const path of timeSliced(content === '' ? [] : content.split('\n')))
      resources.push({ uri: toUri(path), name: path, ...FILE });
    return { resources };
  });
  server.setRequestHandler('resources/templates/list', () => ({
    resourceTemplates: [{ name: 'file', uriTemplate: 'memory:///memories/{+path}', ...FILE }],
  }));
  server.setRequestHandler('resources/read', async ({ params: { uri } }) => {
    const served = memory.texts.find((each) => each.uri === uri);
    if (served !== undefined)
      return { contents: [{ uri, mimeType: FILE.mimeType, text: await served.read() }] };
    const path = parseUri(uri);
    if (path === undefined)
      throw new ResourceNotFoundError(uri, 'The URI of a file looks like memory:///memories/notes.md.');
    const { content, isError } = await memory.read(path);
    if (isError) throw new ResourceNotFoundError(uri, content);
    return { contents: [{ uri, mimeType: FILE.mimeType, text: content }] };
  });
}

function invalidParams(message: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, message);
}
