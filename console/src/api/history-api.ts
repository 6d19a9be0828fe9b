import { post, sendJson, sendRequest } from './api-client.ts';
import type { Activity, Changes, FileDiff, RevertResolution, Version } from './api-types.ts';
import type { AdjacentChanges, VersionWithContent } from './schema.ts';
import { tenantPath } from './tenants-api.ts';

export interface VersionQuery {
  path?: string | undefined;
  path_contains?: string | undefined;
  by?: string | undefined;
  source?: string | undefined;
  by_contains?: string | undefined;
  operation?: string | undefined;
  since?: string | undefined;
  until?: string | undefined;
  after?: string | null;
  limit?: number;
}

/** Lists versions, newest first. */
export const listVersions = (tenant: string, query: VersionQuery, signal?: AbortSignal) =>
  sendJson<{ versions: Version[]; next: string | null }>(tenantPath(tenant, '/versions'), {
    query: { ...query },
    signal,
  });

const versionPath = (tenant: string, id: string, rest = '') =>
  tenantPath(tenant, `/versions/${encodeURIComponent(id)}${rest}`);

export const getVersion = (tenant: string, id: string, signal: AbortSignal) =>
  sendJson<VersionWithContent>(versionPath(tenant, id), { signal });

/** Compares a version with its predecessor, or with the version `against`. */
export const readVersionDiff = (tenant: string, id: string, signal: AbortSignal, against?: string) =>
  sendJson<{ changes: FileDiff[] }>(versionPath(tenant, id, '/diff'), { query: { against }, signal });

/**
 * Lists the versions that a redaction would remove.
 *
 * @throws ApiError when one of them is a file's current version
 */
export const checkRedaction = (tenant: string, id: string, signal: AbortSignal) =>
  sendJson<{ redacted: { id: string }[] }>(versionPath(tenant, id, '/redaction'), {
    query: { limit: 1 },
    signal,
  });

export const redaction = (tenant: string, id: string) => post(versionPath(tenant, id, '/redact'));
export const redactVersion = (tenant: string, id: string) =>
  sendRequest<{ versions: number; same_path: number; stored_results: number; drafts: string[] }>(
    redaction(tenant, id),
  );

export interface Times {
  path?: string | undefined;
  /** Defaults to the beginning of the history. */
  at?: string | undefined;
  /** Now by default. */
  to?: string | undefined;
}

export const compareTimes = (tenant: string, times: Times, after: string | null, signal: AbortSignal) =>
  sendJson<{ changes: FileDiff[]; at: string; to: string; next: string | null }>(
    tenantPath(tenant, '/diff'),
    {
      query: { ...times, after, limit: 100 },
      signal,
    },
  );

export const readActivity = (
  tenant: string,
  query: { since: string | null; until: string | null; buckets: number },
  signal: AbortSignal,
) => sendJson<Activity>(tenantPath(tenant, '/activity'), { query, signal });

/** Returns the times of the changes before and after `at`. Null means now. */
export const adjacentChanges = (tenant: string, at: string | null) =>
  sendJson<AdjacentChanges>(tenantPath(tenant, '/adjacent-changes'), {
    query: { at },
  });

export type RestoreTarget = { at: string; path?: string } | { version: string; path?: string };

/** An actor as the API identifies it, or the source declared for keys. */
export type ActorQuery = { by: string } | { source: string };

export type RevertTarget = ActorQuery & { since: string; until?: string };

/**
 * Reads the change that a revert would make to one file, from its current text to the text without the actor's changes.
 */
export const readRevertDiff = (
  tenant: string,
  target: RevertTarget,
  memory_id: string,
  signal: AbortSignal,
) =>
  sendJson<{ difference: FileDiff; texts: { current: string | null; reverted: string | null } }>(
    tenantPath(tenant, '/revert/diff'),
    { query: { ...target, memory_id }, signal },
  );

/**
 * Restores a path, or the whole memory.
 *
 * @param plan the preview's fingerprint. Undefined previews the changes.
 */
export const restoration = (tenant: string, target: RestoreTarget, plan?: string) =>
  post(tenantPath(tenant, '/restore'), { ...target, dry_run: plan === undefined, plan });

/** @param plan as for `restoration` */
export const reversion = (
  tenant: string,
  target: RevertTarget & { resolutions: RevertResolution[] },
  plan?: string,
) => post(tenantPath(tenant, '/revert'), { ...target, dry_run: plan === undefined, plan });

/** Reverts changes without a preview. */
export const revert = (tenant: string, target: RevertTarget) =>
  sendRequest<Changes>(post(tenantPath(tenant, '/revert'), { ...target, dry_run: false }));
