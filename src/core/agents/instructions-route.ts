import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { ServiceError } from '../errors/errors.ts';
import { instructionsFor, instructionsSchema } from '../files/mounts/mount-instructions.ts';
import type { Services } from '../files/services.ts';
import { requireContext } from '../http/authentication.ts';
import { requireInFlight } from '../http/capacity.ts';
import { agentErrors, problemResponses } from '../http/problem-responses.ts';
import { tenantErrors, tenantHeaders } from './execute-schema.ts';
import { sendJson, wantsText } from './tool.ts';

const invalidProtocol = () =>
  new ServiceError('invalid_parameter', 'The query parameter protocol must be true or false.');

const schema = {
  operationId: 'getInstructions',
  summary: 'Get text for the system prompt',
  description:
    'The memory protocol, and the directories that show other memories, with their purpose. With `Accept: text/plain` the body is the text alone.',
  tags: ['memory'],
  headers: tenantHeaders,
  querystring: z.object({
    protocol: z.enum(['true', 'false']).default('true').meta({
      description:
        '`false` leaves the memory protocol out: the Claude API adds it by itself with the memory tool.',
    }),
  }),
  response: {
    200: {
      description: 'The text, and the same for programs.',
      content: {
        'application/json': { schema: instructionsSchema },
        'text/plain': { schema: z.string() },
      },
    },
    ...problemResponses([...tenantErrors, ...agentErrors, invalidProtocol()]),
  },
};

/** Serves `GET /instructions`: text for the system prompt that describes the agent's memory. */
export async function instructionsRoute(app: FastifyInstance, services: Services): Promise<void> {
  app.get('/instructions', { config: { hasNoBody: true }, schema }, async (request, reply) => {
    const instructions = await requireInFlight(request).work(0, async () => {
      const { protocol = 'true' } = request.query as { protocol?: unknown };
      if (protocol !== 'true' && protocol !== 'false') throw invalidProtocol();
      return instructionsFor({ ...requireContext(request), ip: request.ip }, services, protocol === 'true');
    });
    request.logEntry.command = 'instructions';
    request.logEntry.outcome = 'ok';
    if (!wantsText(request)) return sendJson(reply, instructions);
    return reply.type('text/plain; charset=utf-8').send(instructions.content);
  });
}
