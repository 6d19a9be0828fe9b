import { sendJson } from './client.ts';
import { tenantPath } from './tenants.ts';
import type { Activity, Changes, FileDiff, Version } from './types.ts';

export interface VersionQuery {
  path?: string | undefined;
  by?: string | undefined;
  operation?: string | undefined;
  since?: string | undefined;
  until?: string | undefined;
  after?: string | null;
  limit?: number;
}

/** Versions, the newest first. */
export const listVersions = (tenant: string, query: VersionQuery, signal?: AbortSignal) =>
  sendJson<{ versions: Version[]; next: string | null }>(tenantPath(tenant, '/versions'), {
    query: { ...query },
    ...(signal ? { signal } : {}),
  });

const versionPath = (tenant: string, id: string, rest = '') =>
  tenantPath(tenant, `/versions/${encodeURIComponent(id)}${rest}`);

export const getVersion = (tenant: string, id: string, signal: AbortSignal) =>
  sendJson<Version>(versionPath(tenant, id), { signal });

export const diffOfVersion = (tenant: string, id: string, signal: AbortSignal) =>
  sendJson<{ changes: FileDiff[] }>(versionPath(tenant, id, '/diff'), { signal });

export const redactVersion = (tenant: string, id: string) =>
  sendJson<{ versions: number; same_path: number; answers: number }>(versionPath(tenant, id, '/redact'), {
    method: 'POST',
  });

export interface Moments {
  path?: string | undefined;
  at: string;
  /** By default now. */
  to?: string | undefined;
}

export const diffOfMoments = (tenant: string, moments: Moments, after: string | null, signal: AbortSignal) =>
  sendJson<{ changes: FileDiff[]; at: string; to: string; next: string | null }>(
    tenantPath(tenant, '/diff'),
    {
      query: { ...moments, after },
      signal,
    },
  );

export const readActivity = (
  tenant: string,
  query: { since: string; buckets: number },
  signal: AbortSignal,
) => sendJson<Activity>(tenantPath(tenant, '/activity'), { query, signal });

export type RestoreTarget = { at: string; path?: string } | { version: string; path?: string };

export const restore = (tenant: string, target: RestoreTarget, dryRun: boolean, signal?: AbortSignal) =>
  post(tenantPath(tenant, '/restore'), { ...target, dry_run: dryRun }, signal);

export const revert = (
  tenant: string,
  target: { by: string; since: string },
  dryRun: boolean,
  signal?: AbortSignal,
) => post(tenantPath(tenant, '/revert'), { ...target, dry_run: dryRun }, signal);

const post = (path: string, json: object, signal?: AbortSignal) =>
  sendJson<Changes>(path, { method: 'POST', json, ...(signal ? { signal } : {}) });
