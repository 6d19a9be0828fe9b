import type { FastifyRequest } from 'fastify';
import type { Actor } from '../memory/origin.ts';
import type { AuditChannel, AuditIntent } from '../tenants/audit.ts';

/** Returns the audit record to write before a request makes a change. */
export function auditIntent(
  request: FastifyRequest,
  { actor, channel, dryRun = false }: { actor: Actor; channel: AuditChannel; dryRun?: boolean },
): AuditIntent {
  const action = request.routeOptions.schema?.operationId ?? '';
  return { actor, action, channel, address: request.ip, requestId: request.id, dryRun };
}

export function logUnrecorded(request: FastifyRequest): (error: Error) => void {
  return ({ name }) =>
    request.log.error({ reqId: request.id, fault: name }, 'the outcome of a change is not recorded');
}
