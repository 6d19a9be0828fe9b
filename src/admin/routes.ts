import type { FastifyInstance, FastifyPluginAsync, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import type { LoadedState } from '../history/log.ts';
import { departureOf } from '../http/access-log.ts';
import { utf8Problem } from '../http/json-body.ts';
import { requireTenant } from '../tenants/tenants.ts';
import { noteAudit } from './audit.ts';
import { administratorOf, originOf } from './authentication.ts';
import { reserveResponse } from './concurrency-limit.ts';
import type { AdminContext } from './context.ts';
import type { AnyOperation, ResponseDescription } from './operation.ts';
import { errorResponses, json } from './responses.ts';

/** Operations of one tenant, which has to exist. */
const OF_TENANT = /^\/tenants\/:tenant\//;

/** Returns a plugin with the routes of operations. */
export function operationRoutes(operations: readonly AnyOperation[]): FastifyPluginAsync<AdminContext> {
  return async (app, context) => {
    for (const operation of operations) {
      if (operation.bodyType === undefined) operationRoute(app, context, operation);
      else {
        app.register(async (scope) => {
          scope.register(textBody);
          operationRoute(scope, context, operation);
        });
      }
    }
  };
}

function operationRoute(app: FastifyInstance, context: AdminContext, operation: AnyOperation): void {
  const { id, method, url, summary, description, tag, access, scope, params, query, body, headers } =
    operation;
  const { bodyType, status = 200, response, otherResponses = {}, errors = [], isHeavy = false } = operation;
  app.route({
    method,
    url,
    config: {
      ...(access && { access }),
      ...(scope && { scope }),
      ...(bodyType && { bodyType }),
      ...(operation.tenantOf && { tenantOf: operation.tenantOf }),
    },
    schema: {
      operationId: id,
      summary,
      ...(description && { description }),
      tags: [tag],
      ...(bodyType && { consumes: [bodyType] }),
      ...(params && { params }),
      ...(query && { querystring: query }),
      ...(body && { body }),
      ...(headers && { headers }),
      response: {
        ...successes({ [status]: response, ...otherResponses }),
        ...errorResponses(kindOf(operation), errors),
      },
    },
    handler: async (request, reply) => {
      const signal = departureOf(request, reply);
      const run = async () => operation.run(await callOf(request, context, url, signal));
      const output = await (isHeavy ? context.heavyWork.run(turnOf(request), signal, run) : run());
      if (status !== 200) reply.code(status);
      if (operation.location) reply.header('Location', `/v1${operation.location(output)}`);
      if (operation.encode === undefined) return output;
      const encoded = operation.encode(output, request.headers);
      if (encoded.status !== undefined) reply.code(encoded.status);
      reply.headers(encoded.headers ?? {});
      if (typeof encoded.body === 'string') {
        await reserveResponse(request, Buffer.byteLength(encoded.body));
        reply.type('text/plain; charset=utf-8');
      }
      return reply.send(encoded.body);
    },
  });
}

function kindOf({ method, body, bodyType }: AnyOperation) {
  if (method === 'GET') return 'reads';
  if (body === undefined) return 'changes';
  return bodyType === undefined ? 'takes JSON' : 'takes text';
}

/** Statuses of responses without a body. */
const EMPTY = new Set(['204', '304']);

function successes(responses: Record<number, ResponseDescription>): Record<string, object> {
  return Object.fromEntries(
    Object.entries(responses).map(([status, { description, schema, mediaType, headers }]) => {
      if (EMPTY.has(status)) return [status, schema.meta({ description })];
      const content =
        mediaType === undefined
          ? json(description, schema)
          : { description, content: { [mediaType]: { schema } } };
      return [status, { ...content, ...(headers && { headers }) }];
    }),
  );
}

/** Lets the routes of a scope take text, and nothing else: UTF-8, byte for byte. */
const textBody = fp(
  async (app) => {
    app.removeAllContentTypeParsers();
    app.addContentTypeParser('text/plain', { parseAs: 'buffer' }, (request, body, done) => {
      const problem = utf8Problem(request.headers, body as Buffer);
      if (problem !== undefined) done(problem);
      else done(null, body.toString('utf8'));
    });
  },
  { name: 'text-body' },
);

async function callOf(
  request: FastifyRequest,
  { config, database, services, merges, patches, heavyWork }: AdminContext,
  url: string,
  signal: AbortSignal,
) {
  const { tenant } = request.params as { tenant?: string };
  const isOfTenant = OF_TENANT.test(url) && tenant !== undefined;
  const row = request.tenantRow ?? (isOfTenant ? await requireTenant(database, tenant) : undefined);
  return {
    params: request.params,
    query: request.query,
    body: request.body,
    headers: request.headers,
    config,
    database,
    services: async () => services,
    inSlot: <T>(work: () => Promise<T>) => heavyWork.run(turnOf(request), signal, work),
    compare: (before: LoadedState, after: LoadedState) => patches.compare(before, after, signal),
    merges,
    administrator: administratorOf(request),
    origin: originOf(request),
    get tenant() {
      if (row === undefined) throw new Error(`The operation at ${url} is not one of a tenant.`);
      return row;
    },
    signal,
    note: (subject: Parameters<typeof noteAudit>[1]) => noteAudit(request, subject),
  };
}

function turnOf(request: FastifyRequest): string {
  return (request.params as { tenant?: string }).tenant ?? '';
}
