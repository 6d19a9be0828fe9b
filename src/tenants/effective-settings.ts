import type { Config } from '../config.ts';
import type { TenantDefaults } from '../memory/store.ts';
import type { TenantRow, TenantSettings } from './queries.ts';

/** A tenant's own settings, with the service's defaults for the others. 0 means no limit. */
export type EffectiveSettings = { [name in keyof TenantSettings]: NonNullable<TenantSettings[name]> };

/**
 * Applies the service's defaults to a tenant's own settings.
 *
 * @param config the configuration of the service. That of a command is the same only if both have the same environment.
 */
export function effectiveSettings(own: Partial<TenantSettings>, config: Config): EffectiveSettings {
  return {
    maxFileBytes: own.maxFileBytes ?? config.MAX_FILE_BYTES,
    maxBytes: own.maxBytes ?? config.MAX_TENANT_BYTES,
    maxFiles: own.maxFiles ?? config.MAX_TENANT_FILES,
    maxViewChars: own.maxViewChars ?? config.MAX_VIEW_CHARS,
    ratePerMinute: own.ratePerMinute ?? config.RATE_LIMIT_PER_MINUTE,
    // A tenant can only lower the limit of the service, and 0 means that it does not.
    maxBodyBytes: Math.min(own.maxBodyBytes || config.MAX_BODY_BYTES, config.MAX_BODY_BYTES),
    ttlDays: own.ttlDays ?? config.MEMORY_TTL_DAYS,
    redact: own.redact ?? config.REDACT,
    createExisting: own.createExisting ?? config.CREATE_EXISTING,
    historyDays: own.historyDays ?? config.HISTORY_DAYS,
    maxHistoryBytes: own.maxHistoryBytes ?? config.MAX_TENANT_HISTORY_BYTES,
  };
}

/** The service's defaults of the settings that the store applies. */
export function tenantDefaults(config: Config): TenantDefaults {
  return {
    maxFiles: config.MAX_TENANT_FILES,
    maxBytes: config.MAX_TENANT_BYTES,
    historyDays: config.HISTORY_DAYS,
    maxHistoryBytes: config.MAX_TENANT_HISTORY_BYTES,
  };
}

/** How full a tenant is, measured by its closest limit. */
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
