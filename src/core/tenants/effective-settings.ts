import type { Config } from '../config.ts';
import type { TenantDefaults } from '../memory/memory-store.ts';
import type { TenantRow } from './queries.ts';
import { type EffectiveSettings, SETTINGS, settingsFrom, type TenantSettings } from './settings.ts';

/**
 * Applies the service's defaults to a tenant's own settings.
 *
 * @param config the service's configuration. A command must run in the same environment as the service to get the same
 * result.
 */
export function effectiveSettings(own: Partial<TenantSettings>, config: Config): EffectiveSettings {
  return settingsFrom((name, setting) => {
    const value = own[name] ?? null;
    const byDefault = config[SETTINGS[name].variable];
    if ('onlyLowers' in setting) return Math.min(Number(value) || Infinity, Number(byDefault));
    return value ?? byDefault;
  });
}

/** Returns the service's defaults for the settings that writes and hourly jobs apply. */
export function tenantDefaults(config: Config): TenantDefaults {
  const { maxFiles, maxBytes, historyDays, maxHistoryBytes } = effectiveSettings({}, config);
  return { maxFiles, maxBytes, historyDays, maxHistoryBytes };
}

/** A tenant's usage relative to its closest limit. */
export interface Fullness {
  /** Percentage, rounded down. Exceeds 100 if a limit was lowered below the usage. */
  percent: number;
  of: 'files' | 'bytes';
}

/** Returns the usage relative to the closest limit, or undefined if the tenant has no limit on files or bytes. */
export function fullness(
  { files, bytes }: Pick<TenantRow, 'files' | 'bytes'>,
  { maxFiles, maxBytes }: Pick<EffectiveSettings, 'maxFiles' | 'maxBytes'>,
): Fullness | undefined {
  const candidates: Fullness[] = [];
  if (maxFiles > 0) candidates.push({ percent: percentUsed(files, maxFiles), of: 'files' });
  if (maxBytes > 0) candidates.push({ percent: percentUsed(bytes, maxBytes), of: 'bytes' });
  return candidates.sort((a, b) => b.percent - a.percent)[0];
}

/** Computes a percentage, rounded down. */
export function percentUsed(used: number, limit: number): number {
  return Math.floor((100 * used) / limit);
}
