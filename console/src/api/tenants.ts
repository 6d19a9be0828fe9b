import { send, sendJson } from './client.ts';
import type { TenantTotals } from './schema.ts';
import type {
  Access,
  FleetUsage,
  Key,
  KeyKind,
  KeyWithPrevious,
  Mount,
  Mounts,
  SessionInfo,
  Settings,
  Tenant,
  Usage,
  UsageDay,
} from './types.ts';

export const getSession = () => sendJson<SessionInfo>('session');

export interface TenantQuery {
  search?: string;
  status?: Tenant['status'] | undefined;
  archived?: boolean;
  /** A key of the metadata, or a key and its value as `key=value`. */
  metadata?: string;
  sort?: string;
  /** Minimum used percentage of a limit. */
  near_limit?: number | undefined;
  limit?: number;
  after?: string | null;
  /** Whether to also count all matching tenants. */
  totals?: boolean;
}

export type { TenantTotals };

export const listTenants = (query: TenantQuery, signal: AbortSignal) =>
  sendJson<{ tenants: Tenant[]; next: string | null; totals: TenantTotals | null }>('tenants', {
    query: { ...query },
    signal,
  });

/** User-supplied name, description, and metadata of a tenant. In a change, null removes a pair. */
export interface TenantDetails {
  name?: string;
  description?: string;
  metadata?: Record<string, string | null>;
}

export const createTenant = (tenant: TenantDetails & { id: string }) =>
  sendJson<Tenant>('tenants', { method: 'POST', json: tenant });

export const changeDetails = (tenant: string, details: TenantDetails) =>
  sendJson<Tenant>(tenantPath(tenant), { method: 'PATCH', json: details });

/** Returns the path of a tenant's resource, relative to `v1/`. */
export const tenantPath = (tenant: string, rest = '') => `tenants/${encodeURIComponent(tenant)}${rest}`;

export const getTenant = (tenant: string, signal?: AbortSignal) =>
  sendJson<Tenant>(tenantPath(tenant), signal ? { signal } : {});

export const getUsage = (tenant: string, signal: AbortSignal) =>
  sendJson<Usage>(tenantPath(tenant, '/usage'), { signal });

/** Lists the usage by day, oldest first. Days without requests and changes are omitted. */
export const listUsageDays = (tenant: string, since: string, signal: AbortSignal) =>
  sendJson<{ days: UsageDay[] }>(tenantPath(tenant, '/usage/days'), { query: { since }, signal });

/** Returns the usage of all tenants together, now and by day. */
export const getFleetUsage = (since: string, signal: AbortSignal) =>
  sendJson<FleetUsage>('usage', { query: { since }, signal });

export const changeSettings = (tenant: string, settings: Partial<Settings>) =>
  sendJson<Tenant>(tenantPath(tenant), { method: 'PATCH', json: { settings } });

export const setSuspended = (tenant: string, suspended: boolean) =>
  sendJson<Tenant>(tenantPath(tenant, suspended ? '/suspend' : '/resume'), { method: 'POST' });

/** Renames a tenant. The tenant keeps its keys and history. */
export const renameTenant = (tenant: string, to: string) =>
  sendJson<Tenant>(tenantPath(tenant, '/rename'), { method: 'POST', json: { to } });

/** Creates a tenant with the files and settings of `tenant`. */
export const copyTenant = (tenant: string, to: string) =>
  sendJson<Tenant>(tenantPath(tenant, '/copy'), { method: 'POST', json: { to } });

export const deleteTenant = (tenant: string) => send(tenantPath(tenant), { method: 'DELETE' });

export const listMounts = (tenant: string, signal: AbortSignal) =>
  sendJson<Mounts>(tenantPath(tenant, '/mounts'), { signal });

const mountPath = (tenant: string, name: string) => tenantPath(tenant, `/mounts/${encodeURIComponent(name)}`);

/** Adds a mount, or replaces the mount with the same name. */
export const setMount = (tenant: string, { name, ...mount }: Mount) =>
  sendJson<Mount>(mountPath(tenant, name), { method: 'PUT', json: mount });

export const removeMount = (tenant: string, name: string) =>
  send(mountPath(tenant, name), { method: 'DELETE' });

export interface KeyQuery {
  tenant?: string | undefined;
  search?: string;
  kind?: string;
  status?: string;
  unused_days?: number | undefined;
  expires_in_days?: number | undefined;
  sort?: string;
}

export const listKeys = (query: KeyQuery, after: string | null, signal: AbortSignal) =>
  sendJson<{ keys: Key[]; next: string | null }>('keys', { query: { ...query, after, limit: 100 }, signal });

export interface NewKey {
  kind: KeyKind;
  tenant?: string;
  access: Access;
  tenants: string[] | null;
  manages_stores: boolean;
  label: string;
  source: string;
  expires_at: string | null;
}

export type KeyChanges = Partial<Pick<NewKey, 'label' | 'expires_at'>>;

export type KeyWithSecret = Key & { key: string };

/** @param creation idempotency key of the request, so that a retry creates no second key */
export const createKey = (key: NewKey, creation: string) =>
  sendJson<KeyWithSecret>('keys', { method: 'POST', json: key, headers: { 'idempotency-key': creation } });

export const getKey = (id: string, signal: AbortSignal) =>
  sendJson<KeyWithPrevious>(`keys/${encodeURIComponent(id)}`, { signal });

export const updateKey = (id: string, changes: KeyChanges) =>
  sendJson<Key>(`keys/${encodeURIComponent(id)}`, { method: 'PATCH', json: changes });

export const rotateKey = (id: string, overlap_seconds: number) =>
  sendJson<KeyWithSecret>(`keys/${encodeURIComponent(id)}/rotate`, {
    method: 'POST',
    json: { overlap_seconds },
  });

/** Ends the secrets of a key from before its last rotation. */
export const endPreviousSecret = (id: string) =>
  send(`keys/${encodeURIComponent(id)}/previous-secret`, { method: 'DELETE' });

export const revokeKey = (id: string) => send(`keys/${encodeURIComponent(id)}`, { method: 'DELETE' });
