import type { FastifyRequest } from 'fastify';
import { inTenant } from '../../core/agents/redirect.ts';
import type { Config } from '../../core/config.ts';
import type { Database } from '../../core/database/database.ts';
import { ServiceError } from '../../core/errors/errors.ts';
import type { Services } from '../../core/files/services.ts';
import { auditIntent, logUnrecorded } from '../../core/http/audit-intent.ts';
import { requireContext } from '../../core/http/authentication.ts';
import type { AnyOperation } from '../../core/lib/operation.ts';
import { type OpenAuditEvent, runAudited } from '../../core/tenants/audit.ts';
import { FailedAttempts } from '../../core/tenants/failed-attempts.ts';
import { NO_TENANT } from '../../core/tenants/queries.ts';
import { requireSameTenant } from '../../core/tenants/tenants.ts';
import type { SharingTypes } from './agent-operations.ts';

export type SharingOperation = AnyOperation<SharingTypes>;
type Input = Parameters<SharingOperation['run']>[0];

export type SharingInput = Pick<Input, 'params' | 'query' | 'body' | 'headers'>;

/**
 * Runs an operation for the request's tenant. Changes are recorded in the audit trail.
 *
 * @throws ServiceError 403 if the caller may not share
 */
export type RunSharing = (
  request: FastifyRequest,
  operation: SharingOperation,
  input: SharingInput,
) => Promise<unknown>;

/** Returns the function that runs operations for agents, over HTTP and as a tool. */
export function agentSharing(config: Config, services: Services): RunSharing {
  const { database } = services;
  const attempts = new FailedAttempts(config.AUTH_FAILURES_PER_MINUTE, 'too_many_invalid_tokens');
  return async (request, operation, input) => {
    requireCanShare(request);
    const access = operationAccess(operation);
    const run = (note: OpenAuditEvent['note']) =>
      inTenant(request, access, async ({ principal, policy: { createdAt } }) => {
        const tenant = { id: principal.tenant, createdAt: createdAt ?? NO_TENANT };
        // After a rename, the work is repeated with the new ID.
        await requireSameTenant(database, tenant.id, tenant.createdAt);
        const { actor } = principal;
        return operation.run({ database, config, services, tenant, actor, attempts, note, ...input });
      });
    return access === 'read' ? run(() => {}) : runRecorded(database, request, run);
  };
}

export function operationAccess({ method }: SharingOperation): 'read' | 'write' {
  return method === 'GET' ? 'read' : 'write';
}

/** @throws ServiceError 403 if the caller may not share */
function requireCanShare(request: FastifyRequest): void {
  if (!requireContext(request).principal.canShare) throw new ServiceError('cannot_share');
}

function runRecorded<T>(
  database: Database,
  request: FastifyRequest,
  work: (note: OpenAuditEvent['note']) => Promise<T>,
): Promise<T> {
  const { actor, tenant } = requireContext(request).principal;
  const intent = auditIntent(request, { actor, channel: 'sharing_api' });
  return runAudited(database, intent, { tenant }, work, { onUnrecorded: logUnrecorded(request) });
}
