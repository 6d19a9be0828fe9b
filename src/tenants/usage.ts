import type { Config } from '../config.ts';
import { effectiveSettings } from './effective-settings.ts';
import type { TenantRow } from './queries.ts';
import type { Tenants } from './tenants.ts';

/** How much of a limit is used; a null limit is none. */
export interface Used {
  used: number;
  limit: number | null;
}

export interface Usage {
  files: Used;
  bytes: Used;
  historyBytes: Used;
  historyVersions: number;
  /** Under idempotency keys. */
  storedResults: number;
  lastActivityAt: Date | null;
}

/** What a tenant uses of its limits. */
export async function tenantUsage(tenants: Tenants, config: Config, row: TenantRow): Promise<Usage> {
  const { maxFiles, maxBytes, maxHistoryBytes } = effectiveSettings(row, config);
  const [storedResults, lastActivityAt] = await Promise.all([
    tenants.countStoredResults(row.id),
    tenants.lastActivity(row.id),
  ]);
  return {
    files: { used: row.files, limit: maxFiles || null },
    bytes: { used: row.bytes, limit: maxBytes || null },
    historyBytes: { used: row.historyBytes, limit: maxHistoryBytes || null },
    historyVersions: row.historyVersions,
    storedResults,
    lastActivityAt,
  };
}
