import { type MemoryClient, MemoryServiceError } from 'memory-service-client';
import { MEMORY_PROTOCOL } from '../../../src/memory/protocol.ts';

/** Time that a connecting host waits for the service. The server also starts without the text of the service. */
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
