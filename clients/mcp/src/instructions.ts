import { type MemoryClient, MemoryServiceError } from 'memory-service-client';
import { MEMORY_PROTOCOL } from '../../../src/core/memory/protocol.ts';

/**
 * Maximum time that a connecting host waits for the service. Without the service's text, the server starts with the
 * protocol alone.
 */
const PATIENCE_MS = 3000;

/**
 * Returns the service's instructions: the memory protocol, and the mounts. If the service is unreachable or has no
 * instructions, returns the protocol alone.
 */
export async function readInstructions(client: MemoryClient): Promise<string> {
  try {
    return await client.instructions({ signal: AbortSignal.timeout(PATIENCE_MS) });
  } catch (error) {
    if (error instanceof MemoryServiceError) return MEMORY_PROTOCOL;
    throw error;
  }
}
