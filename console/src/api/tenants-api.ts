import { type ApiRequest, patch, post, remove, sendEmpty, sendJson, sendRequest } from './api-client.ts';
import type {
  Access,
  FleetActivity,
  FleetUsage,
  Key,
  KeyKind,
  KeyWithPrevious,
  Mount,
  Mounts,
  Right,
  SessionInfo,
  Settings,
  Tenant,
  Usage,
  UsageDay,
} from './api-types.ts';
import type { TenantTotals } from './schema.ts';

export const getSession = () => sendJson<SessionInfo>('session');

export interface TenantQuery {
  search?: string;
  status?: Tenant['status'] | undefined;
  /** Metadata pairs as `key=value`. */
  metadata?: string[];
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

/** A tenant's user-supplied name, description, and metadata. In a change, null removes a pair. */
export interface TenantDetails {
  name?: string;
  description?: string;
  metadata?: Record<string, string | null>;
}

export const creation = (json: TenantDetails & { id: string }) => post('tenants', json);
export const createTenant = (tenant: TenantDetails & { id: string }) => sendRequest<Tenant>(creation(tenant));

export const changeDetails = (tenant: string, details: TenantDetails) =>
  sendJson<Tenant>(tenantPath(tenant), { method: 'PATCH', json: details });

/** Returns the path to a tenant's resource, relative to `v1/`. */
export const tenantPath = (tenant: string, rest = '') => `tenants/${encodeURIComponent(tenant)}${rest}`;

export const getTenant = (tenant: string, signal?: AbortSignal) =>
  sendJson<Tenant>(tenantPath(tenant), { signal });

export const getUsage = (tenant: string, signal: AbortSignal) =>
  sendJson<Usage>(tenantPath(tenant, '/usage'), { signal });

/** Lists the usage by day, oldest first. Days without requests and changes are omitted. */
export const listUsageDays = (tenant: string, since: string, signal: AbortSignal) =>
  sendJson<{ days: UsageDay[] }>(tenantPath(tenant, '/usage/days'), { query: { since }, signal });

/** Returns the total usage by all tenants, now and by day. */
export const getFleetUsage = (since: string, signal: AbortSignal) =>
  sendJson<FleetUsage>('usage', { query: { since }, signal });

/** Returns the last hour's calls by agents, and the replicas that run. */
export const getActivity = (signal: AbortSignal) => sendJson<FleetActivity>('activity', { signal });

export const settingsChange = (tenant: string, settings: Partial<Settings>) =>
  patch(tenantPath(tenant), { settings });
export const changeSettings = (tenant: string, settings: Partial<Settings>) =>
  sendRequest<Tenant>(settingsChange(tenant, settings));

export const suspension = (tenant: string, suspended: boolean) =>
  post(tenantPath(tenant, suspended ? '/suspend' : '/resume'));
export const setSuspended = (tenant: string, suspended: boolean) =>
  sendRequest<Tenant>(suspension(tenant, suspended));

/** Renames a tenant. The tenant keeps its keys and history. */
export const renaming = (tenant: string, to: string) => post(tenantPath(tenant, '/rename'), { to });

/** Creates a tenant with the files and settings in `tenant`. */
export const copying = (tenant: string, to: string) => post(tenantPath(tenant, '/copy'), { to });

export const deletion = (tenant: string) => remove(tenantPath(tenant));
export const deleteTenant = (tenant: string) => sendEmpty(deletion(tenant));

export const listMounts = (tenant: string, signal: AbortSignal) =>
  sendJson<Mounts>(tenantPath(tenant, '/mounts'), { signal });

/** Lists a tenant's mounts without the tenants that mount it, because finding them would read all tenants. */
export const listOwnMounts = async (tenant: string, signal: AbortSignal) => {
  const query = { mounted_by: false };
  return (await sendJson<Mounts>(tenantPath(tenant, '/mounts'), { query, signal })).mounts;
};

const mountPath = (tenant: string, name: string) => tenantPath(tenant, `/mounts/${encodeURIComponent(name)}`);

/** Adds a mount, or replaces the mount with the same name. */
export const mounting = (tenant: string, { name, ...json }: Mount): ApiRequest => ({
  method: 'PUT',
  path: mountPath(tenant, name),
  json,
});
export const setMount = (tenant: string, mount: Mount) => sendRequest<Mount>(mounting(tenant, mount));

export const unmounting = (tenant: string, name: string) => remove(mountPath(tenant, name));

export interface KeyQuery {
  tenant?: string | undefined;
  /** Substring that the tenant's ID contains. */
  tenant_contains?: string;
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
  rights: Right[];
  can_share: boolean;
  label: string;
  source: string;
  expires_at: string | null;
}

export type KeyChanges = Partial<Pick<NewKey, 'label' | 'expires_at' | 'rights'>>;

export type KeyWithSecret = Key & { key: string };

export const keyCreation = (json: NewKey) => post('keys', json);

/** @param id the request's idempotency key, so that a retry creates no second key */
export const createKey = (key: NewKey, id: string) =>
  sendRequest<KeyWithSecret>({ ...keyCreation(key), headers: { 'idempotency-key': id } });

export const getKey = (id: string, signal: AbortSignal) =>
  sendJson<KeyWithPrevious>(`keys/${encodeURIComponent(id)}`, { signal });

const keyPath = (id: string, rest = '') => `keys/${encodeURIComponent(id)}${rest}`;

export const keyChange = (id: string, json: KeyChanges) => patch(keyPath(id), json);

export const rotation = (id: string, overlap_seconds: number) =>
  post(keyPath(id, '/rotate'), { overlap_seconds });

/** Ends a key's secrets from before the last rotation. */
export const secretEnd = (id: string) => remove(keyPath(id, '/previous-secret'));

export const revocation = (id: string) => remove(keyPath(id));
