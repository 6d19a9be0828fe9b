import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { type MemoryClient, MemoryServiceError } from 'memory-service-client';
import type { ExecuteTool } from '../../../src/agents/mcp/call.ts';
import { createMemoryServer, type ServedMemory } from '../../../src/agents/mcp/server.ts';
import packageJson from '../package.json' with { type: 'json' };
import { instructionsOf } from './instructions.ts';
import { nameSettings } from './settings.ts';

/**
 * An MCP server for the memory of one client, not yet connected. `instructions` is what a host that connects is told
 * of the memory.
 */
export function serverFor(client: MemoryClient, instructions?: string): McpServer {
  return createMemoryServer(packageJson, memoryOf(client), instructions);
}

/** The memory of one client. */
export function memoryOf(client: MemoryClient): ServedMemory {
  return { execute: executorOf(client), instructions: () => instructionsOf(client) };
}

/** A call that gets no result is one that the model reads about. */
function executorOf(client: MemoryClient): ExecuteTool {
  return async (call, signal) => {
    try {
      const block = { type: 'tool_use', ...call } as const;
      const { content, is_error: isError } = await client.execute(block, { signal });
      return { content, isError };
    } catch (error) {
      if (!(error instanceof MemoryServiceError)) throw error;
      return { content: `Error: ${nameSettings(error.message)}`, isError: true };
    }
  };
}
