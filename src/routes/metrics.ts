import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { Metrics } from '../plugins/metrics.ts';

/** `GET /metrics`: what Prometheus scrapes. */
export async function metricsRoute(
  app: FastifyInstance,
  { metrics: { registry } }: { metrics: Metrics },
): Promise<void> {
  app.get(
    '/metrics',
    {
      schema: {
        operationId: 'metrics',
        summary: 'Metrics for Prometheus',
        tags: ['operations'],
        security: [],
        response: {
          200: { description: 'The metrics.', content: { 'text/plain': { schema: z.string() } } },
        },
      },
    },
    async (_request, reply) => reply.type(registry.contentType).send(await registry.metrics()),
  );
}
