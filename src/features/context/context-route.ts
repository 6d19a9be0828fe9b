import type { FastifyInstance, FastifyRequest, FastifySchema } from 'fastify';
import { z } from 'zod';
import { tenantErrors, tenantHeaders } from '../../core/agents/execute-schema.ts';
import type { FeatureText } from '../../core/agents/feature-text.ts';
import { inTenant } from '../../core/agents/redirect.ts';
import { resultBytes } from '../../core/agents/result-bounds.ts';
import { observe, sendJson, wantsText } from '../../core/agents/tool.ts';
import { ServiceError } from '../../core/errors/errors.ts';
import type { Services } from '../../core/files/services.ts';
import { callOrigin } from '../../core/files/tool-call.ts';
import { requireContext } from '../../core/http/authentication.ts';
import { requireInFlight } from '../../core/http/capacity.ts';
import { agentErrors, problemResponses } from '../../core/http/problem-responses.ts';
import { type ContextOptions, readContext } from './context.ts';
import { type Context, contextQuerySchema, contextSchema } from './context-schema.ts';
import { contextAsText } from './context-text.ts';
import { parseVersion } from './context-version.ts';

const invalidQuery = (why: string) => new ServiceError('invalid_parameter', why);

const schema: FastifySchema = {
  operationId: 'getContext',
  summary: 'Get the context for an agent before its first token',
  description: [
    'Guidance for the system prompt, and a snapshot of the memory for the first message: a list of the files, and the contents of pinned files. The snapshot keeps its bytes until the memory changes.',
    'With `since`, the response has only the changes, if they are known. With `If-None-Match` and an `ETag` from before, the status is 304 if nothing changed. With `Accept: text/plain` the body is the text alone: the guidance and the snapshot, or the changes.',
  ].join('\n\n'),
  tags: ['memory'],
  headers: tenantHeaders.extend({
    'if-none-match': z.string().optional().meta({ description: 'An `ETag` from an earlier response.' }),
  }),
  querystring: contextQuerySchema,
  response: {
    200: {
      description: 'The context.',
      headers: { ETag: { schema: { type: 'string' }, description: 'The version, as a weak validator.' } },
      content: {
        'application/json': { schema: contextSchema },
        'text/plain': { schema: z.string() },
      },
    },
    304: z.null().meta({ description: 'No change.' }),
    ...problemResponses([
      ...tenantErrors,
      ...agentErrors,
      invalidQuery('The query parameter max_chars must be a whole number from 1000.'),
    ]),
  },
};

/** Serves `GET /context`: guidance and a snapshot of the memory for an agent. */
export async function contextRoute(app: FastifyInstance, services: Services): Promise<void> {
  app.get('/context', { config: { hasNoBody: true }, schema }, async (request, reply) => {
    const context = await requireInFlight(request).work(bytesFor(request), () => {
      const options = parseQuery(request.query);
      const { since = sentVersion(request) } = options;
      return observeContext(request, services, {
        ...options,
        since,
        onlyChanges: options.since !== undefined,
      });
    });
    const { guidance, snapshot, changes, version } = context;
    reply.header('ETag', `W/"${version}"`);
    const isCurrent = changes === '' && (request.query as { since?: unknown }).since === undefined;
    if (isCurrent) return reply.code(304).send();
    if (!wantsText(request)) return sendJson(reply, { guidance, snapshot, changes, version });
    return reply.type('text/plain; charset=utf-8').send(contextAsText(context));
  });
}

/** Returns the context as a text, for MCP. */
export function contextText(services: Services): FeatureText {
  return {
    name: 'memory-context',
    uri: 'memory:///context',
    title: 'Memory context',
    description: 'Guidance for the memory, a list of its files, and the contents of pinned files.',
    read: async (request) => contextAsText(await observeContext(request, services, {})),
  };
}

function observeContext(
  request: FastifyRequest,
  services: Services,
  options: ContextOptions,
): Promise<Context> {
  const details = { tool: 'context', command: 'context', access: 'read', toolUseId: undefined } as const;
  const { ip, id: requestId } = request;
  return observe(request, { ...details, callerTrace: undefined }, () =>
    inTenant(request, 'read', async ({ principal, policy }) => {
      const origin = callOrigin({ principal, requestId, toolUseId: undefined });
      const context = await readContext({ principal, policy, ip, origin }, services, options);
      return { ...context, isError: false };
    }),
  );
}

/** JSON has the texts once, and the guidance is as short as a call's result. */
function bytesFor(request: FastifyRequest): number {
  return resultBytes(2, requireContext(request).policy.limits);
}

function parseQuery(query: unknown): ContextOptions {
  const { data, error } = contextQuerySchema.safeParse(query);
  if (data !== undefined) return { since: data.since, maxChars: data.max_chars };
  const [issue] = error.issues;
  throw invalidQuery(`The query parameter ${issue?.path.join('.') || ''} ${issue?.message}.`);
}

/** Returns the version in the request's `If-None-Match`; undefined without a valid one. */
function sentVersion({ headers }: FastifyRequest): string | undefined {
  const [, version = ''] = /^\s*(?:W\/)?"([^"]*)"\s*$/.exec(headers['if-none-match'] ?? '') ?? [];
  return parseVersion(version) === undefined ? undefined : version;
}
