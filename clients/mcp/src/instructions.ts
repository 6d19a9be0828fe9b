import { type MemoryClient, MemoryServiceError } from 'memory-service-client';
import { MEMORY_PROTOCOL } from '../../../src/memory/protocol.ts';

/** How long a host that connects waits for the service: without its text, the server starts anyway. */
const PATIENCE_MS = 3000;

/**
 * Returns what the service says of the memory: the protocol, and the directories that show other memories. While it
 * cannot be reached, and from a service that has no such text, the protocol alone.
 */
export async function instructionsOf(client: MemoryClient): Promise<string> {
  try {
    return await client.instructions({ signal: AbortSignal.timeout(PATIENCE_MS) });
  } catch (error) {
    if (error instanceof MemoryServiceError) return MEMORY_PROTOCOL;
    throw error;
  }
}
