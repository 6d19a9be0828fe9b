import type { FastifyRequest } from 'fastify';
import { ServiceError } from '../errors.ts';

export const TENANT_HEADER = 'X-Tenant-Id';
export const TENANT_ID = /^[A-Za-z0-9._:@-]{1,128}$/;
const DEFAULT_TENANT = 'default';

/**
 * The tenant of a request without authentication: the one it names, else `default`.
 *
 * @throws ServiceError 400 when the name is no tenant id.
 */
export function tenantOf(request: FastifyRequest): string {
  const given = request.headers['x-tenant-id'];
  if (given === undefined) return DEFAULT_TENANT;
  if (typeof given === 'string' && TENANT_ID.test(given)) return given;
  throw new ServiceError(
    400,
    'invalid_tenant',
    `${TENANT_HEADER} is not a tenant id: it has to be 1 to 128 of the characters A-Z a-z 0-9 . _ : @ -`,
  );
}
