import { type MemoryClient, MemoryServiceError } from 'memory-service-client';

/**
 * The instruction that the Claude API adds to the system prompt with the memory tool. MCP hosts do not add it, so the server offers it: as
 * its own instructions, which hosts put into the system prompt, and as a prompt.
 */
export const MEMORY_PROTOCOL = `IMPORTANT: ALWAYS VIEW YOUR MEMORY DIRECTORY BEFORE DOING ANYTHING ELSE.
MEMORY PROTOCOL:
1. Use the \`view\` command of your \`memory\` tool to check for earlier progress.
2. ... (work on the task) ...
     - As you make progress, record status / progress / thoughts etc in your memory.
ASSUME INTERRUPTION: Your context window might be reset at any moment, so you risk losing any progress that is not recorded in your memory directory.`;

/** What the documentation recommends against cluttered memories. */
export const TIDINESS =
  'Note: when editing your memory folder, always try to keep its content up-to-date, coherent and organized. You can rename or delete files that are no longer relevant. Do not create new files unless necessary.';

/** How long a host that connects waits for the service: without its text, the server starts anyway. */
const PATIENCE_MS = 3000;

/**
 * Returns what the service says of the memory: the protocol, and the directories that show other memories. While it cannot be reached, and
 * from a service that has no such text, the protocol alone.
 */
export async function instructionsOf(client: MemoryClient): Promise<string> {
  try {
    return await client.instructions({ signal: AbortSignal.timeout(PATIENCE_MS) });
  } catch (error) {
    if (error instanceof MemoryServiceError) return MEMORY_PROTOCOL;
    throw error;
  }
}
