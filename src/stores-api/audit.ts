import type { FastifyRequest } from 'fastify';
import { beginAudit } from '../audit/audit.ts';
import { ServiceError } from '../errors.ts';
import { contextOf } from '../http/authentication.ts';
import type { Database } from '../postgres/database.ts';
import { ALL_STORES } from './authenticate.ts';
import { StoreError } from './errors.ts';

/** Records what only a key that manages stores may do in the audit trail: before it is done, and again with its outcome. */
export async function audited<T extends object>(
  database: Database,
  request: FastifyRequest,
  work: () => Promise<T>,
): Promise<T> {
  const { actor, tenant } = contextOf(request).principal;
  const { memory_store_id: _, ...details } = request.params as Record<string, string>;
  const subject = { tenant: tenant === ALL_STORES ? undefined : tenant, details };
  const action = request.routeOptions.schema?.operationId ?? '';
  const event = await beginAudit(
    database,
    {
      actor,
      action,
      channel: 'memory_stores_api',
      address: request.ip,
      requestId: request.id,
      dryRun: false,
    },
    subject,
  );
  const finish = (outcome: string, about: object) =>
    event.finish(outcome, { ...subject, ...about }).catch((error: Error) => {
      // The change is made, and its record says that it began. The caller must not repeat it.
      request.log.error({ reqId: request.id, fault: error.name }, 'the outcome of a change is not recorded');
    });
  try {
    const result = await work();
    await finish('ok', 'id' in result && subject.tenant === undefined ? { tenant: result.id } : {});
    return result;
  } catch (error) {
    await finish(outcomeOf(error), {});
    throw error;
  }
}

function outcomeOf(error: unknown): string {
  if (error instanceof StoreError) return error.type;
  return error instanceof ServiceError ? error.code : 'internal_error';
}
