import { ServiceError } from '../errors/errors.ts';
import { countedTenant, type RequestContext, requireContext } from '../http/authentication.ts';
import type { StreamCallers } from '../http/streams.ts';
import { NO_TENANT } from '../tenants/queries.ts';
import { identifyAsNew } from './redirect.ts';

/** The agents with open streams. */
export const AGENT_CALLERS: StreamCallers = {
  countedAs: (request) => countedTenant(requireContext(request)),
  async verify(request) {
    const { principal, policy } = await identifyAsNew(request);
    if (!hasSameAccess(requireContext(request), { principal, policy }))
      throw new ServiceError('access_changed');
    const readAt = Math.min(principal.readAt ?? performance.now(), policy.readAt);
    return { ...principal, readAt };
  },
};

/** Whether two contexts have the same memories and access. A later tenant with the same ID has another memory. */
function hasSameAccess(before: RequestContext, now: RequestContext): boolean {
  const { createdAt } = before.policy;
  const isReplaced = createdAt !== NO_TENANT && createdAt !== now.policy.createdAt;
  return !isReplaced && JSON.stringify(access(before)) === JSON.stringify(access(now));
}

function access({ principal, policy }: RequestContext): unknown[] {
  const { tenant, access, rights, proposesAs, proposal } = principal;
  return [tenant, access, rights, proposesAs, proposal, policy.mounts];
}
