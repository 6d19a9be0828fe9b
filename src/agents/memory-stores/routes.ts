import type { FastifyInstance } from 'fastify';
import type { Services } from '../../files/services.ts';
import { memoryRoutes } from './memories.ts';
import { storeRoutes } from './stores.ts';
import { versionRoutes } from './versions.ts';

/**
 * The Memory Stores API: programs for Anthropic's hosted stores work on this service (docs/memory-stores.md). Each
 * operation is in the file of its subject.
 */
export async function memoryStoreRoutes(app: FastifyInstance, services: Services): Promise<void> {
  // Before anything else, so that each response has it.
  app.addHook('onSend', (request, reply, payload, done) => {
    reply.header('Request-Id', request.id);
    done(null, payload);
  });
  await storeRoutes(app, services);
  await memoryRoutes(app, services);
  await versionRoutes(app, services);
}
