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
  { tenant, isDeleted }: Mount,
  policies: Pick<TenantPolicyCache, 'policyFor'>,
  ip: string,
): Promise<TenantPolicy | Unavailable> {
  if (isDeleted) return 'missing';
  try {
    return await policies.policyFor(tenant, { autoCreate: false, ip });
  } catch (error) {
    if (hasReason(error, 'tenant_suspended')) return 'suspended';
    if (hasReason(error, 'unknown_tenant')) return 'missing';
    throw error;
  }
}

/** Reads something of a mount that is shown among others. They are shown also where the database cannot reach this one. */
export async function unlessUnreachable<T>(read: () => Promise<T>): Promise<T | 'unreachable'> {
  try {
    return await read();
  } catch (error) {
    if (hasReason(error, 'database_unavailable')) return 'unreachable';
    throw error;
  }
}
