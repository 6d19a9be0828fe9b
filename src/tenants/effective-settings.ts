import type { Config } from '../config.ts';
import type { TenantRow, TenantSettings } from './queries.ts';

/** What holds for a tenant: its own settings, else the service's. 0 means no limit. */
export type EffectiveSettings = { [name in keyof TenantSettings]: NonNullable<TenantSettings[name]> };

/** @param config of the service; that of a command only says the same when both have the same environment */
export function effectiveSettings(own: TenantSettings, config: Config): EffectiveSettings {
  return {
    maxFileBytes: own.maxFileBytes ?? config.MAX_FILE_BYTES,
    maxBytes: own.maxBytes ?? config.MAX_TENANT_BYTES,
    maxFiles: own.maxFiles ?? config.MAX_TENANT_FILES,
    maxViewChars: own.maxViewChars ?? config.MAX_VIEW_CHARS,
    ratePerMinute: own.ratePerMinute ?? config.RATE_LIMIT_PER_MINUTE,
    // A tenant's own can only be smaller than the service's, and 0 is none of its own.
    maxBodyBytes: Math.min(own.maxBodyBytes || config.MAX_BODY_BYTES, config.MAX_BODY_BYTES),
    ttlDays: own.ttlDays ?? config.MEMORY_TTL_DAYS,
    redact: own.redact ?? config.REDACT,
    historyDays: own.historyDays ?? config.HISTORY_DAYS,
    maxHistoryBytes: own.maxHistoryBytes ?? config.MAX_TENANT_HISTORY_BYTES,
  };
}

/** How full a tenant is, by the limit that it is nearest to. */
export interface Fullness {
  /** Rounded down: 100 is full. Over 100 when a limit was lowered. */
  percent: number;
  of: 'files' | 'bytes';
}

/** Undefined for a tenant that has no limit on files or bytes. */
export function fullness(
  { files, bytes }: Pick<TenantRow, 'files' | 'bytes'>,
  { maxFiles, maxBytes }: Pick<EffectiveSettings, 'maxFiles' | 'maxBytes'>,
): Fullness | undefined {
  const candidates: Fullness[] = [];
  if (maxFiles > 0) candidates.push({ percent: percentOf(files, maxFiles), of: 'files' });
  if (maxBytes > 0) candidates.push({ percent: percentOf(bytes, maxBytes), of: 'bytes' });
  return candidates.sort((a, b) => b.percent - a.percent)[0];
}

/** Rounded down. */
export function percentOf(used: number, limit: number): number {
  return Math.floor((100 * used) / limit);
}
