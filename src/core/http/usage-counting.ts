import type { FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import type { Activity } from '../tenants/activity.ts';
import { NO_TENANT } from '../tenants/queries.ts';
import type { UsageCounts, Uses } from '../tenants/usage.ts';
import { countedTenant, type RequestContext } from './authentication.ts';

declare module 'fastify' {
  interface FastifyInstance {
    /** Usage counts shared by all listeners. */
    usageCounts: UsageCounts;
    /** Activity shared by all listeners. */
    activity: Activity;
  }
  interface FastifyRequest {
    /** The uses counted so far. Undefined before the first use. */
    uses: Uses | undefined;
    /** Error codes for the rejected calls so far. */
    rejections: string[] | undefined;
  }
}

/** Statuses that count as rejections: missing access, a conflict, and too many requests. */
const REJECTIONS = new Set([403, 409, 429]);

/** Counts one read, write, or rejected call in the usage for a request's tenant. */
export function countUse(request: FastifyRequest, use: keyof Uses): void {
  request.uses ??= { reads: 0, writes: 0, rejected: 0 };
  request.uses[use]++;
}

/** @param reason an error code */
export function countRejection(request: FastifyRequest, reason: string): void {
  countUse(request, 'rejected');
  request.rejections ??= [];
  request.rejections.push(reason);
}

/** Returns the creation time for the tenant whose usage the request counts for, or null if the time is unknown. */
function creationTime(context: RequestContext | undefined): string | null {
  if (context === undefined) return null;
  const { principal, policy } = context;
  // A draft's uses count for its original. Only a key for the original knows when the original was created.
  if (policy.draftOf !== null)
    return principal.draftOf === undefined ? null : (principal.tenantCreatedAt ?? null);
  // The request may have created the tenant, so its creation time is unknown.
  return policy.createdAt === NO_TENANT ? null : policy.createdAt;
}

/** Adds each request's uses to the tenant's usage, and to the activity. */
export const usageCounting = fp<{ counts: UsageCounts; activity: Activity }>(
  async (app, { counts, activity }) => {
    app.decorateRequest('uses');
    app.decorateRequest('rejections');
    app.addHook('onResponse', (request, { statusCode }, done) => {
      if (REJECTIONS.has(statusCode)) countUse(request, 'rejected');
      const { uses, context, logEntry, rejections = [] } = request;
      // A request that was rejected before authentication has no context. A request about all memory stores has a
      // context, but no tenant in the log.
      const tenant =
        context === undefined || logEntry.tenant === undefined ? logEntry.tenant : countedTenant(context);
      if (uses !== undefined && tenant !== undefined) counts.add(tenant, creationTime(context), uses);
      const caller = { tenant: tenant ?? null, actor: context?.principal.actor ?? null };
      const problem = statusCode < 400 ? [] : [logEntry.outcome ?? String(statusCode)];
      activity.add(caller, uses ?? { reads: 0, writes: 0 }, [...rejections, ...problem]);
      done();
    });
  },
  { name: 'usage-counting', dependencies: ['access-log'] },
);
