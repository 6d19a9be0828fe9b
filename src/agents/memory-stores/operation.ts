import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import type { Database } from '../../database/database.ts';
import { ServiceError } from '../../errors/errors.ts';
import { Memories } from '../../files/memories.ts';
import { Memory } from '../../files/memory.ts';
import type { Services } from '../../files/services.ts';
import { auditIntent, logUnrecorded } from '../../http/audit.ts';
import { contextOf, type RequestContext } from '../../http/authentication.ts';
import { inFlightOf } from '../../http/capacity.ts';
import { agentErrors } from '../../http/problem-responses.ts';
import { countUse } from '../../http/usage.ts';
import { jsonBytes } from '../../lib/json.ts';
import type { Origin } from '../../memory/origin.ts';
import { type AuditSubject, audited } from '../../tenants/audit.ts';
import { requireSameTenant } from '../../tenants/tenants.ts';
import { contextForWrite, inTenant } from '../proposals.ts';
import { type Access, ALL_STORES, identifyForStore } from './authenticate.ts';
import { errorResponses, invalid, notFound, StoreError } from './errors.ts';

/** The input of one request, and whom it is for. */
export interface StoreRequest<Params, Query, Body> extends RequestContext {
  params: Params;
  query: Query;
  body: Body;
  /** The id of the store, which is that of its tenant. */
  store: string;
  /** Whose memories these are: the store's or, of a propose-only key that has written, its draft's. */
  tenant: string;
  origin: Origin;
  memories: Memories;
}

interface Operation<Params, Query, Body> {
  method: 'GET' | 'POST' | 'DELETE';
  /** After the prefix. */
  url: string;
  id: string;
  summary: string;
  description?: string;
  access: Access;
  isForSuspended?: boolean;
  params: z.ZodType<Params>;
  query: z.ZodType<Query>;
  /** Null: it takes none. */
  body: z.ZodType<Body> | null;
  response: z.ZodType;
  /**
   * Returns the bytes to reserve before contents are read or written. For reads, the bytes of the result are reserved
   * in any case.
   */
  responseBytes?(query: Query, policy: RequestContext['policy']): number;
  /** Its errors beside those of all operations. */
  errors?: StoreError[];
  run(request: StoreRequest<Params, Query, Body>): Promise<object>;
}

const ofAll = [invalid('limit: Too small: expected number to be >=1'), ...agentErrors];
const ofStore = [notFound('memory store'), new ServiceError('tenant_suspended', 'acme')];
const ofBody = [
  new ServiceError('invalid_json', 'malformed'),
  new ServiceError('invalid_utf8'),
  new ServiceError('unsupported_charset'),
];

/** Declares an operation: its route, its documentation, and what is done in the store's turn. */
export function defineOperation<Params, Query, Body>(
  app: FastifyInstance,
  services: Services,
  operation: Operation<Params, Query, Body>,
): void {
  const {
    method,
    url,
    id,
    summary,
    description,
    access,
    params,
    query,
    body,
    response,
    errors = [],
  } = operation;
  const { database } = services;
  const isOfStore = url.includes(':memory_store_id');
  app.route({
    method,
    url,
    config: {
      identify: identifyForStore,
      storeAccess: access,
      isForSuspended: operation.isForSuspended ?? false,
      hasNoBody: body === null,
    },
    schema: {
      operationId: id,
      summary,
      tags: ['memory stores'],
      ...(description === undefined ? {} : { description }),
      ...(isOfStore ? { params } : {}),
      querystring: query,
      ...(body === null ? {} : { body }),
      response: {
        200: { description: 'Done.', content: { 'application/json': { schema: response } } },
        ...errorResponses([
          ...ofAll,
          ...(isOfStore ? ofStore : []),
          ...(body === null ? [] : ofBody),
          ...errors,
        ]),
      },
    },
    handler: async (request, reply) => {
      const inFlight = inFlightOf(request);
      const input = {
        params: parsed(params, request.params),
        query: parsed(query, request.query),
        body: body === null ? (undefined as Body) : parsed(body, request.body),
      };
      const work = async () => {
        if (access === 'write') await contextForWrite(request);
        return inTenant(request, access === 'read' ? 'read' : 'write', async (context) => {
          const { tenant, draftOf = tenant, actor } = context.principal;
          const origin = { actor, requestId: request.id };
          const { createdAt } = context.policy;
          const result = await operation.run({
            ...context,
            ...input,
            store: draftOf,
            tenant,
            origin,
            memories: new Memories(new Memory(services, tenant, { autoCreate: false, origin, createdAt })),
          });
          if (access === 'read') await requireSameTenant(database, tenant, createdAt);
          return result;
        });
      };
      const bytes = operation.responseBytes?.(input.query, contextOf(request).policy) ?? 0;
      const result = await inFlight.work(bytes, () =>
        access === 'manage' ? recorded(database, request, work) : work(),
      );
      request.logEntry.outcome = 'ok';
      countUse(request, access === 'read' ? 'reads' : 'writes');
      // A change is done, whether or not there is room for its result.
      if (method === 'GET') await inFlight.reserveResponse(jsonBytes(result));
      return reply.type('application/json; charset=utf-8').send(JSON.stringify(result));
    },
  });
}

/** Records what only a key that manages stores may do in the audit trail. */
function recorded(database: Database, request: FastifyRequest, work: () => Promise<object>): Promise<object> {
  const { actor, tenant } = contextOf(request).principal;
  const { memory_store_id: _, ...details } = request.params as Record<string, string>;
  const isOfStore = tenant !== ALL_STORES;
  const changeAndNote = async (note: (subject: AuditSubject) => void) => {
    const result = await work();
    if (!isOfStore && 'id' in result) note({ tenant: String(result.id) });
    return result;
  };
  return audited(
    database,
    auditIntent(request, { actor, channel: 'memory_stores_api' }),
    { tenant: isOfStore ? tenant : undefined, details },
    changeAndNote,
    {
      onUnrecorded: logUnrecorded(request),
      outcomeOf: (error) => (error instanceof StoreError ? error.type : undefined),
    },
  );
}

/** @throws StoreError that names the first field that is wrong, without its value. */
function parsed<T>(schema: z.ZodType<T>, given: FastifyRequest['body']): T {
  const result = schema.safeParse(given);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const field = issue?.path.map(String).join('.') ?? '';
  // A key of an object may be anything, and messages do not repeat what was sent.
  const what =
    issue?.code === 'unrecognized_keys' ? 'the body has a field that this API does not know' : issue?.message;
  const named = field.startsWith('metadata.') ? 'metadata' : field;
  throw invalid(named === '' ? `The request is not valid: ${what}.` : `${named}: ${what}`);
}
