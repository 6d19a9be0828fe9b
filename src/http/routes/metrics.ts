import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { prefers } from '../accept.ts';
import type { Metrics } from '../metrics.ts';

/** `GET /metrics`: what Prometheus scrapes. */
export async function metricsRoute(app: FastifyInstance, { metrics }: { metrics: Metrics }): Promise<void> {
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
    async (request, reply) => {
      const { registry, openMetrics } = metrics;
      const chosen = openMetrics && wantsOpenMetrics(request) ? openMetrics : registry;
      return reply.type(chosen.contentType).send(await chosen.metrics());
    },
  );
}

/** Prometheus prefers OpenMetrics. Others get the older format, which has no exemplars. */
function wantsOpenMetrics({ headers }: FastifyRequest): boolean {
  return prefers(headers.accept, 'application/openmetrics-text', 'text/plain');
}
