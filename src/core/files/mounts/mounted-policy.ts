import { hasReason, ServiceError } from '../../errors/errors.ts';
import type { Unavailable } from '../../memory/messages.ts';
import type { Mount } from '../../memory/mount.ts';
import type { TenantPolicy, TenantPolicyCache } from '../../tenants/policy-cache.ts';

/**
 * Returns a mounted tenant's settings, or the reason why its memory is unavailable.
 *
 * @param ip the caller's IP address
 * @throws ServiceError 503 when too many lookups are queued
 */
export async function mountedPolicy(
  { tenant, createdAt }: Mount,
  policies: Pick<TenantPolicyCache, 'policyFor' | 'forget'>,
  ip: string,
): Promise<TenantPolicy | Unavailable> {
  const isShown = (policy: TenantPolicy) => createdAt === undefined || createdAt === policy.createdAt;
  try {
    const cached = await policies.policyFor(tenant, { autoCreate: false, ip });
    if (isShown(cached)) return cached;
    // Times in the same format sort as text.
    if (cached.createdAt !== null && cached.createdAt > (createdAt ?? '')) return 'missing';
    // The tenant was recreated after its settings were cached, and the mount is for the new tenant.
    policies.forget(tenant);
    const policy = await policies.policyFor(tenant, { autoCreate: false, ip });
    return isShown(policy) ? policy : 'missing';
  } catch (error) {
    if (hasReason(error, 'tenant_suspended')) return 'suspended';
    if (hasReason(error, 'unknown_tenant')) return 'missing';
    throw error;
  }
}

/**
 * Returns the settings of the draft that shows the paths to which a caller proposes changes.
 *
 * @throws ServiceError tenant_replaced if the draft was closed
 */
export async function proposalPolicy(
  proposal: Mount,
  policies: Pick<TenantPolicyCache, 'policyFor' | 'forget'>,
  ip: string,
): Promise<TenantPolicy> {
  const policy = await mountedPolicy(proposal, policies, ip);
  if (typeof policy === 'string') throw new ServiceError('tenant_replaced', proposal.tenant);
  return policy;
}

/** Reads from one of several mounts. An unreachable mount must not prevent the others from being shown. */
export async function catchUnreachable<T>(read: () => Promise<T>): Promise<T | 'unreachable'> {
  try {
    return await read();
  } catch (error) {
    if (hasReason(error, 'database_unavailable')) return 'unreachable';
    throw error;
  }
}
