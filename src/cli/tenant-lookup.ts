import { OperatorError } from '../errors.ts';
import type { TenantRow } from '../tenants/queries.ts';
import type { Tenants } from '../tenants/tenants.ts';

/** @throws OperatorError when there is no such tenant. */
export async function existingTenant(tenants: Tenants, tenant: string): Promise<TenantRow> {
  const row = await tenants.find(tenant);
  if (row === undefined) throw noTenant(tenant);
  return row;
}

export function noTenant(tenant: string): OperatorError {
  return new OperatorError(`There is no tenant ${tenant}. See: memory-service tenants list`);
}
