import type { FastifyContextConfig, FastifyRequest } from 'fastify';
import { ServiceError } from '../errors/errors.ts';
import type { Administrator } from '../tenants/authenticator.ts';
import { ADMIN_ACCESS } from '../variable-schemas.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * The access that an admin key needs for the route. The default is `read_only` for reads, `operate` for changes to
     * a tenant (`:tenant` in the URL), and `read_write` for other changes.
     */
    access?: Administrator['access'];
    /**
     * The admin keys with a scope that may use the route.
     * - `tenant`: keys for the tenant in the URL (the default if the URL has a tenant)
     * - `fleet`: none (the default otherwise)
     * - `handler`: all, and the handler restricts itself to the key's tenants
     */
    scope?: 'tenant' | 'fleet' | 'handler';
  }
}

const READING = new Set(['GET', 'HEAD']);

/** Whether a request only reads. */
export const isReading = ({ method }: { method: string }) => READING.has(method);

/** The properties that determine who may use a route or an operation. */
interface Rules {
  method: string;
  access?: Administrator['access'] | undefined;
  scope?: FastifyContextConfig['scope'] | undefined;
}

/** @throws ServiceError 403 if the admin may not use the request's route */
export function authorize(administrator: Administrator, request: FastifyRequest): void {
  const { access, scope } = request.routeOptions.config;
  const { tenant } = request.params as { tenant?: string };
  requireRight(administrator, { method: request.method, access, scope }, tenant);
}

/**
 * Checks the right to use a route or an operation. An operation whose input asks for another operation's effect also
 * checks the right to that operation, so that no right is gained by a detour.
 *
 * @param tenant the tenant in the URL; undefined if the operation concerns the fleet
 * @throws ServiceError 403
 */
export function requireRight({ access, onlyTenants }: Administrator, rules: Rules, tenant?: string): void {
  const required = rules.access ?? defaultAccess(rules, tenant);
  if (ADMIN_ACCESS.indexOf(access) < ADMIN_ACCESS.indexOf(required)) {
    throw new ServiceError(access === 'read_only' ? 'read_only_key' : 'operate_only_key');
  }
  const scope = rules.scope ?? (tenant === undefined ? 'fleet' : 'tenant');
  if (onlyTenants === null || scope === 'handler') return;
  if (scope === 'fleet') throw new ServiceError('outside_scope', 'fleet');
  requireInScope(onlyTenants, tenant ?? null);
}

function defaultAccess({ method }: Rules, tenant: string | undefined): Administrator['access'] {
  if (isReading({ method })) return 'read_only';
  return tenant === undefined ? 'read_write' : 'operate';
}

/**
 * @param tenant null for data that belongs to no tenant
 * @throws ServiceError 403 if the tenant is outside the scope
 */
export function requireInScope(onlyTenants: string[] | null, tenant: string | null): void {
  if (onlyTenants === null) return;
  if (tenant === null) throw new ServiceError('outside_scope', 'fleet');
  if (!onlyTenants.includes(tenant)) throw new ServiceError('outside_scope', 'tenant');
}
