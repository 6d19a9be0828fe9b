import type { FastifyInstance, FastifyPluginAsync, FastifyRequest } from 'fastify';
import { departureOf } from '../http/access-log.ts';
import { requireTenant } from '../tenants/tenants.ts';
import { noteAudit } from './audit.ts';
import { administratorOf, originOf } from './authentication.ts';
import type { AdminContext } from './context.ts';
import type { AnyOperation } from './operation.ts';
import { errorResponses, json } from './responses.ts';

/** Operations of one tenant, which has to exist. */
const OF_TENANT = /^\/tenants\/:tenant\//;

/** Returns a plugin with the routes of operations. */
export function operationRoutes(operations: readonly AnyOperation[]): FastifyPluginAsync<AdminContext> {
  return async (app, context) => {
    for (const operation of operations) operationRoute(app, context, operation);
  };
}

function operationRoute(app: FastifyInstance, context: AdminContext, operation: AnyOperation): void {
  const { id, method, url, summary, description, tag, access, scope, params, query, body, headers } =
    operation;
  const { status = 200, response, errors = [], isHeavy = false } = operation;
  const kind = method === 'GET' ? 'reads' : body === undefined ? 'changes' : 'takes JSON';
  app.route({
    method,
    url,
    config: { ...(access && { access }), ...(scope && { scope }) },
    schema: {
      operationId: id,
      summary,
      ...(description && { description }),
      tags: [tag],
      ...(params && { params }),
      ...(query && { querystring: query }),
      ...(body && { body }),
      ...(headers && { headers }),
      response: { [status]: success(status, response), ...errorResponses(kind, errors) },
    },
    handler: async (request, reply) => {
      const signal = departureOf(request, reply);
      const run = async () => operation.run(await callOf(request, context, url, signal));
      const output = await (isHeavy ? context.heavyWork.run(turnOf(request), signal, run) : run());
      if (status !== 200) reply.code(status);
      if (operation.location) reply.header('Location', `/v1${operation.location(output)}`);
      return output;
    },
  });
}

function success(status: number, { description, schema }: AnyOperation['response']): object {
  return status === 204 ? schema.meta({ description }) : json(description, schema);
}

async function callOf(
  request: FastifyRequest,
  { config, database, search }: AdminContext,
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
    search,
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
