import { McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js';
import {
  CallToolRequestSchema,
  ErrorCode,
  ListToolsRequestSchema,
  McpError,
} from '@modelcontextprotocol/sdk/types.js';
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/ajv';
import { SerialQueue } from '../../lib/queues.ts';
import { MEMORY_PROTOCOL, TIDINESS } from '../../memory/protocol.ts';
import { callTool, type ExecuteTool } from './call.ts';
import { listFiles, readFile } from './resources.ts';
import { TOOLS } from './tools.ts';

/** A shared validator. Otherwise, each request would create its own validator, which takes longer than most calls. */
const jsonSchemaValidator = new AjvJsonSchemaValidator();

export interface ServerName {
  name: string;
  version: string;
}

export interface ServedMemory {
  execute: ExecuteTool;
  /** Returns text for the system prompt. */
  instructions(): Promise<string>;
}

/**
 * Creates an MCP server for one memory, not yet connected. Both `/mcp` and `memory-service-mcp` use it.
 *
 * @param instructions description of the memory, sent to the host when it connects
 */
export function createMemoryServer(
  { name, version }: ServerName,
  memory: ServedMemory,
  instructions = MEMORY_PROTOCOL,
): McpServer {
  const { execute } = memory;
  const server = new McpServer(
    { name, title: 'Memory', version },
    { capabilities: { tools: {} }, instructions, jsonSchemaValidator },
  );
  registerTools(server, execute);
  server.registerPrompt(
    'memory-protocol',
    { title: 'Memory protocol', description: 'Asks the model to use its memory, and to keep it tidy.' },
    async () => {
      const text = `${await memory.instructions()}\n\n${TIDINESS}`;
      return { messages: [{ role: 'user', content: { type: 'text', text } }] };
    },
  );
  server.registerResource(
    'file',
    new ResourceTemplate('memory:///memories/{+path}', {
      list: async () => ({ resources: await listFiles(execute) }),
    }),
    { title: 'File in memory', description: 'A file of the memory, as text.', mimeType: 'text/plain' },
    async (uri) => ({
      contents: [{ uri: uri.href, mimeType: 'text/plain', text: await readFile(execute, uri) }],
    }),
  );
  return server;
}

/**
 * Handles calls without `registerTool`, whose input check would reject calls before the service can return its
 * messages.
 */
function registerTools({ server }: McpServer, execute: ExecuteTool): void {
  // Hosts send several calls at once, and a later call may view a file that an earlier call creates.
  const calls = new SerialQueue();
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: [...TOOLS] }));
  server.setRequestHandler(CallToolRequestSchema, ({ params }, { signal }) => {
    const { name, arguments: input, _meta: meta } = params;
    if (!TOOLS.some((tool) => tool.name === name)) {
      const names = TOOLS.map((tool) => tool.name).join(' and ');
      throw new McpError(ErrorCode.InvalidParams, `There is no tool ${name}. The tools are ${names}.`);
    }
    return calls.run('', () => callTool(execute, { name, input, meta, signal }));
  });
}
