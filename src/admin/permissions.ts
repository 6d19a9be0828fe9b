import type { FastifyRequest } from 'fastify';
import { ServiceError } from '../errors/errors.ts';
import type { Administrator } from '../tenants/authenticator.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * What an admin key needs for this route. By default `read_only` for what reads, `operate` for what changes a
     * tenant (`:tenant` in the URL), and otherwise `read_write`.
     */
    access?: Administrator['access'];
    /**
     * Which keys for certain tenants may use this route. `tenant`: those for the tenant in the URL. `fleet`: none.
     * `handler`: all of them, and the handler shows and changes only what is of their tenants. By default `tenant`
     * where the URL names one, and otherwise `fleet`.
     */
    scope?: 'tenant' | 'fleet' | 'handler';
  }
}

const READING = new Set(['GET', 'HEAD']);

/** Whether a request changes nothing. */
export const isReading = ({ method }: Pick<FastifyRequest, 'method'>) => READING.has(method);

const LEVELS = { read_only: 0, operate: 1, read_write: 2 };

/** @throws ServiceError 403 when the administrator may not use the route of this request. */
export function authorize({ access, onlyTenants }: Administrator, request: FastifyRequest): void {
  const { tenant } = request.params as { tenant?: string };
  const { config } = request.routeOptions;
  const required = config.access ?? defaultAccess(request, tenant);
  if (LEVELS[access] < LEVELS[required]) {
    throw new ServiceError(access === 'read_only' ? 'read_only_key' : 'operate_only_key');
  }
  const scope = config.scope ?? (tenant === undefined ? 'fleet' : 'tenant');
  if (onlyTenants === null || scope === 'handler') return;
  if (scope === 'fleet') throw new ServiceError('outside_scope', 'fleet');
  requireInScope(onlyTenants, tenant ?? null);
}

function defaultAccess(request: FastifyRequest, tenant: string | undefined): Administrator['access'] {
  if (isReading(request)) return 'read_only';
  return tenant === undefined ? 'read_write' : 'operate';
}

/**
 * @param tenant null: what belongs to no tenant
 * @throws ServiceError 403 when the tenant is not among those of a key.
 */
export function requireInScope(onlyTenants: string[] | null, tenant: string | null): void {
  if (onlyTenants === null) return;
  if (tenant === null) throw new ServiceError('outside_scope', 'fleet');
  if (!onlyTenants.includes(tenant)) throw new ServiceError('outside_scope', 'tenant');
}
