import { McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js';
import {
  CallToolRequestSchema,
  ErrorCode,
  ListToolsRequestSchema,
  McpError,
} from '@modelcontextprotocol/sdk/types.js';
import { inOrder, type MemoryClient } from 'memory-service-client';
import packageJson from '../package.json' with { type: 'json' };
import { callMemory } from './call.ts';
import { instructionsOf, MEMORY_PROTOCOL, TIDINESS } from './instructions.ts';
import { listFiles, readFile } from './resources.ts';
import { TOOLS } from './tool.ts';

/**
 * An MCP server for the memory of one client, not yet connected.
 *
 * @param instructions what a host that connects is told of the memory
 */
export function createMemoryServer(client: MemoryClient, instructions = MEMORY_PROTOCOL): McpServer {
  const server = new McpServer(
    { name: packageJson.name, title: 'Memory', version: packageJson.version },
    { capabilities: { tools: {} }, instructions },
  );
  registerTools(server, client);
  server.registerPrompt(
    'memory-protocol',
    { title: 'Memory protocol', description: 'Asks the model to use its memory, and to keep it tidy.' },
    async () => {
      const text = `${await instructionsOf(client)}\n\n${TIDINESS}`;
      return { messages: [{ role: 'user', content: { type: 'text', text } }] };
    },
  );
  server.registerResource(
    'file',
    new ResourceTemplate('memory:///memories/{+path}', {
      list: async () => ({ resources: await listFiles(client) }),
    }),
    { title: 'File in memory', description: 'A file of the memory, as text.', mimeType: 'text/plain' },
    async (uri) => ({
      contents: [{ uri: uri.href, mimeType: 'text/plain', text: await readFile(client, uri) }],
    }),
  );
  return server;
}

/** Not `registerTool`, whose own check of the input would answer in the place of the service. */
function registerTools({ server }: McpServer, client: MemoryClient): void {
  // Hosts start the calls of one turn at once, and a later one may view what an earlier one creates.
  const enqueue = inOrder();
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: [...TOOLS] }));
  server.setRequestHandler(CallToolRequestSchema, ({ params }, { signal }) => {
    const { name, arguments: input, _meta: meta } = params;
    if (!TOOLS.some((tool) => tool.name === name)) {
      const names = TOOLS.map((tool) => tool.name).join(' and ');
      throw new McpError(ErrorCode.InvalidParams, `There is no tool ${name}. The tools are ${names}.`);
    }
    return enqueue(() => callMemory(client, { name, input, meta, signal }));
  });
}
