import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { contextForWrite, inTenant } from '../../core/agents/redirect.ts';
import type { Database } from '../../core/database/database.ts';
import { ServiceError } from '../../core/errors/errors.ts';
import { Memory } from '../../core/files/memory.ts';
import type { Services } from '../../core/files/services.ts';
import { History } from '../../core/history/history.ts';
import { auditIntent, logUnrecorded } from '../../core/http/audit-intent.ts';
import { type RequestContext, requireContext } from '../../core/http/authentication.ts';
import { requireInFlight } from '../../core/http/capacity.ts';
import { inputValidator, type OperationApi, operationRoutes } from '../../core/http/operation-routes.ts';
import { agentErrors } from '../../core/http/problem-responses.ts';
import { countUse } from '../../core/http/usage-counting.ts';
import { jsonBytes } from '../../core/lib/json.ts';
import { type AuditSubject, runAudited } from '../../core/tenants/audit.ts';
import { directRights } from '../../core/tenants/principal.ts';
import { toFilePath } from '../../core/tenants/store-ids.ts';
import { Stores } from '../../core/tenants/stores.ts';
import { requireSameTenant } from '../../core/tenants/tenants.ts';
import { ALL_STORES, identifyForStore } from './authenticate.ts';
import {
  createMemory,
  deleteMemory,
  forbidden,
  listMemories,
  retrieveMemory,
  updateMemory,
} from './memories.ts';
import { runInOperation } from './operation-tracing.ts';
import { errorResponses, invalid, notFound, StoreError } from './store-errors.ts';
import type { StoreOperation, StoreTypes } from './store-operation.ts';
import {
  archiveMemoryStore,
  createMemoryStore,
  deleteMemoryStore,
  listMemoryStores,
  retrieveMemoryStore,
  updateMemoryStore,
} from './store-operations.ts';
import { listMemoryVersions, redactMemoryVersion, retrieveMemoryVersion } from './store-versions.ts';
import { Memories, mayWrite } from './stored-memories.ts';

const OPERATIONS = [
  createMemoryStore,
  listMemoryStores,
  retrieveMemoryStore,
  updateMemoryStore,
  archiveMemoryStore,
  deleteMemoryStore,
  createMemory,
  listMemories,
  retrieveMemory,
  updateMemory,
  deleteMemory,
  listMemoryVersions,
  retrieveMemoryVersion,
  redactMemoryVersion,
] as StoreOperation[];

/** The hosted API's betas, each a version of this API. A request names at most one beta. */
const BETAS = ['agent-memory-2026-07-22', 'managed-agents-2026-04-01'];

const bothBetasError = () =>
  invalid(`anthropic-beta: it has both ${BETAS.join(' and ')}. Remove one of them: either gives this API.`);

/**
 * Serves the Memory Stores API, with which programs for Anthropic's hosted stores can use this service
 * (docs/memory-stores.md).
 */
export async function memoryStoreRoutes(app: FastifyInstance, services: Services): Promise<void> {
  // The hook is registered first, so that every response gets the header.
  app.addHook('onSend', (request, reply, payload, done) => {
    reply.header('Request-Id', request.id);
    done(null, payload);
  });
  app.addHook('onRequest', ({ headers }, _reply, done) => {
    const betas = String(headers['anthropic-beta'] ?? '').split(',');
    const isOfBoth = BETAS.every((beta) => betas.some((named) => named.trim() === beta));
    done(isOfBoth ? bothBetasError() : undefined);
  });
  app.setValidatorCompiler(inputValidator(validate));
  await operationRoutes(app, storesApi(services), OPERATIONS);
}

const ofAll = [invalid('limit: Too small: expected number to be >=1'), bothBetasError(), ...agentErrors];
const ofStore = [notFound('memory store'), new ServiceError('tenant_suspended', 'acme')];
const ofBody = [
  new ServiceError('invalid_json', 'malformed'),
  new ServiceError('invalid_utf8'),
  new ServiceError('unsupported_charset'),
];

function storesApi(services: Services): OperationApi<StoreTypes> {
  const { database } = services;
  const shared = { database, stores: new Stores(database), history: new History(database) };
  return {
    routeConfig: ({ access, isForSuspended = false }) => ({
      identify: identifyForStore,
      storeAccess: access,
      isForSuspended,
    }),
    describeErrors: ({ url, body, errors = [] }) =>
      errorResponses([
        ...ofAll,
        ...(url.includes(':memory_store_id') ? ofStore : []),
        ...(body === undefined ? [] : ofBody),
        ...errors,
      ]),
    async respond(operation, request) {
      const { method, access, contentBytes } = operation;
      const { params, query, body, headers } = request;
      const work = async () => {
        if (access === 'write') {
          requireRight(requireContext(request), body);
          await contextForWrite(request);
        }
        return inTenant(request, access === 'read' ? 'read' : 'write', async (context) => {
          const { tenant, draftOf = tenant, actor } = context.principal;
          const rights = directRights(context.principal);
          const origin = { actor, requestId: request.id };
          const { createdAt } = context.policy;
          const result = await operation.run({
            ...context,
            ...shared,
            params,
            query,
            body,
            headers,
            store: draftOf,
            tenant,
            origin,
            redaction: () => services.redactionForWrite(tenant, context.policy),
            memories: new Memories(
              new Memory(services, tenant, { autoCreate: false, origin, createdAt, rights }),
            ),
          });
          // Caches must not outlast texts that an operation redacts or deletes.
          if (access === 'manage') services.forgetErased(tenant);
          if (access === 'read') await requireSameTenant(database, tenant, createdAt);
          return result;
        });
      };
      const inFlight = requireInFlight(request);
      const isFull = (query as { view?: string }).view === 'full';
      const bytes = (isFull && contentBytes?.(requireContext(request).policy.limits)) || 0;
      const result = await runInOperation(request, operation.id, () =>
        inFlight.work(bytes, () => (access === 'manage' ? runRecorded(database, request, work) : work())),
      );
      request.logEntry.outcome = 'ok';
      countUse(request, access === 'read' ? 'reads' : 'writes');
      // Only reads wait for memory, because a change is already done when its response is created.
      if (method === 'GET') await inFlight.reserveResponse(jsonBytes(result));
      return result;
    },
  };
}

/**
 * Checks the right to a write's new path before a propose-only key's draft is opened. The write itself checks its paths
 * again.
 *
 * @throws StoreError 403
 */
function requireRight({ principal }: RequestContext, body: unknown): void {
  const { path: given } = (body ?? {}) as { path?: string | null };
  const path = given == null ? undefined : toFilePath(given);
  if (path !== undefined && !mayWrite(directRights(principal), [path])) throw forbidden;
}

/** Records operations that need a key with `--manage-stores` in the audit trail. */
function runRecorded(
  database: Database,
  request: FastifyRequest,
  work: () => Promise<object | null>,
): Promise<object | null> {
  const { actor, tenant } = requireContext(request).principal;
  const { memory_store_id: _, ...details } = request.params as Record<string, string>;
  const isOfStore = tenant !== ALL_STORES;
  const changeAndNote = async (note: (subject: AuditSubject) => void) => {
    const result = await work();
    if (!isOfStore && result !== null && 'id' in result) note({ tenant: String(result.id) });
    return result;
  };
  return runAudited(
    database,
    auditIntent(request, { actor, channel: 'memory_stores_api' }),
    { tenant: isOfStore ? tenant : undefined, details },
    changeAndNote,
    {
      onUnrecorded: logUnrecorded(request),
      describeOutcome: (error) => (error instanceof StoreError ? error.type : undefined),
    },
  );
}

/**
 * Parses a request part.
 *
 * @throws StoreError that names the first invalid field, without its value
 */
function validate<T>(schema: z.ZodType<T>, part: string, given: unknown): T {
  // Fastify passes null if the body is missing.
  const result = schema.safeParse(part === 'body' ? (given ?? undefined) : given);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const field = issue?.path.map(String).join('.') ?? '';
  // Unknown field names are arbitrary text from the caller, and messages do not repeat such text.
  const what =
    issue?.code === 'unrecognized_keys' ? 'the body has a field that this API does not know' : issue?.message;
  const named = field.startsWith('metadata.') ? 'metadata' : field;
  throw invalid(named === '' ? `The request is not valid: ${what}.` : `${named}: ${what}`);
}
