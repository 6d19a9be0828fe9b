import { hasReason } from '../../errors/errors.ts';
import type { Unavailable } from '../../memory/messages.ts';
import type { Mount } from '../../memory/mount.ts';
import type { TenantPolicy, TenantPolicyCache } from '../../tenants/policy-cache.ts';

/**
 * The policy of the tenant that is mounted, or why its memory is not available.
 *
 * @param ip the address of the caller
 * @throws ServiceError 503 when too many lookups wait
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
    // Times of one format sort as text.
    if (cached.createdAt !== null && cached.createdAt > (createdAt ?? '')) return 'missing';
    // The mount is newer than the policy.
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
 * Reads something of a mount that is shown among others. They are shown also where the database cannot reach this
 * one.
 */
export async function unlessUnreachable<T>(read: () => Promise<T>): Promise<T | 'unreachable'> {
  try {
    return await read();
  } catch (error) {
    if (hasReason(error, 'database_unavailable')) return 'unreachable';
    throw error;
  }
}
