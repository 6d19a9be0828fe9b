import { ProtocolError, ProtocolErrorCode, type Server } from '@modelcontextprotocol/server';
import { type MemoryClient, MemoryServiceError } from 'memory-service-client';
import type { ExecuteTool } from '../../../src/features/mcp/mcp-call.ts';
import {
  createMemoryServer,
  type Era,
  type ServedMemory,
  type ServedText,
} from '../../../src/features/mcp/mcp-server.ts';
import { ALL_TOOLS, TOOLS } from '../../../src/features/mcp/tools.ts';
import packageJson from '../package.json' with { type: 'json' };
import { readInstructions } from './instructions.ts';
import { nameSettings } from './settings.ts';
import { listFiles, readFile } from './view-text.ts';

/** The service's context, with the same name and description as on the service's `/mcp`. */
const CONTEXT: Omit<ServedText, 'read'> = {
  name: 'memory-context',
  uri: 'memory:///context',
  title: 'Memory context',
  description: 'Guidance for the memory, a list of its files, and the contents of pinned files.',
};

/**
 * Creates an MCP server for the memory of one client, not yet connected. `instructions` is the text that a connecting
 * host receives.
 */
export function serverFor(client: MemoryClient, era: Era, instructions?: string): Server {
  return createMemoryServer(packageJson, serveMemory(client), era, instructions);
}

/** Returns the memory of one client, as the MCP server uses it. */
export function serveMemory(client: MemoryClient): ServedMemory {
  const execute = createExecutor(client);
  return {
    tools: async () => ((await canShare(client)) ? ALL_TOOLS : TOOLS),
    execute,
    read: (path) => readFile(execute, path),
    list: () => listFiles(execute),
    instructions: () => readInstructions(client),
    texts: [{ ...CONTEXT, read: () => readContext(client) }],
  };
}

/** Whether the client's key may share. If the service cannot be reached, false. */
async function canShare(client: MemoryClient): Promise<boolean> {
  try {
    return (await client.check()).rights.can_share;
  } catch (error) {
    if (!(error instanceof MemoryServiceError)) throw error;
    return false;
  }
}

/** Returns the executor of tool calls. A call without a result returns the error to the model. */
function createExecutor(client: MemoryClient): ExecuteTool {
  return async ({ id, name, input }, signal) => {
    try {
      const block = { type: 'tool_use', id, name, input } as const;
      const { content, is_error: isError } = await client.execute(block, { signal });
      return { content, isError };
    } catch (error) {
      if (!(error instanceof MemoryServiceError)) throw error;
      return { content: `Error: ${nameSettings(error.message)}`, isError: true };
    }
  };
}

/** @throws ProtocolError if the service returns no context, for example because it is older than this server */
async function readContext(client: MemoryClient): Promise<string> {
  try {
    const { guidance, snapshot } = await client.context();
    return `${guidance}\n\n${snapshot}`;
  } catch (error) {
    if (!(error instanceof MemoryServiceError)) throw error;
    throw new ProtocolError(ProtocolErrorCode.InternalError, nameSettings(error.message));
  }
}
