import type { FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { NO_TENANT } from '../tenants/queries.ts';
import type { UsageCounts, Uses } from '../tenants/usage.ts';
import { countedTenant, type RequestContext } from './authentication.ts';

declare module 'fastify' {
  interface FastifyInstance {
    /** Those of the process. */
    usageCounts: UsageCounts;
  }
  interface FastifyRequest {
    /** Undefined until the first one. */
    uses: Uses | undefined;
  }
}

/** No access, a conflict, and too many requests. */
const REFUSALS = new Set([403, 409, 429]);

/** Counts a call of a request: as a read, as a write, or as one that was refused. */
export function countUse(request: FastifyRequest, use: keyof Uses): void {
  request.uses ??= { reads: 0, writes: 0, refused: 0 };
  request.uses[use]++;
}

/** Returns when the tenant was created that a request counts for, as far as that is known. */
function createdAtOf(context: RequestContext | undefined): string | null {
  if (context === undefined) return null;
  const { principal, policy } = context;
  // Uses of a draft count for its original, which only the keys of the original know.
  if (policy.draftOf !== null)
    return principal.draftOf === undefined ? null : (principal.tenantCreatedAt ?? null);
  // The request may have created the tenant.
  return policy.createdAt === NO_TENANT ? null : policy.createdAt;
}

/** Adds what a request did to the usage of its tenant. */
export const usageCounting = fp<{ counts: UsageCounts }>(
  async (app, { counts }) => {
    app.decorateRequest('uses');
    app.addHook('onResponse', (request, reply, done) => {
      if (REFUSALS.has(reply.statusCode)) countUse(request, 'refused');
      const { uses, context, logEntry } = request;
      // A rejected request has no context.
      const tenant = context === undefined ? logEntry.tenant : countedTenant(context);
      if (uses !== undefined && tenant !== undefined) counts.add(tenant, createdAtOf(context), uses);
      done();
    });
  },
  { name: 'usage-counting', dependencies: ['access-log'] },
);
