import type { Config } from '../config.ts';
import type { TenantDefaults } from '../memory/store.ts';
import type { TenantRow } from './queries.ts';
import { type EffectiveSettings, SETTINGS, settingsFrom, type TenantSettings } from './settings.ts';

/**
 * Applies the service's defaults to a tenant's own settings.
 *
 * @param config the configuration of the service. That of a command is the same only if both have the same environment.
 */
export function effectiveSettings(own: Partial<TenantSettings>, config: Config): EffectiveSettings {
  return settingsFrom((name, setting) => {
    const value = own[name] ?? null;
    const byDefault = config[SETTINGS[name].variable];
    if ('onlyLowers' in setting) return Math.min(Number(value) || Infinity, Number(byDefault));
    return value ?? byDefault;
  });
}

/** The service's defaults of the settings that the store and the hourly jobs apply. */
export function tenantDefaults(config: Config): TenantDefaults {
  const { maxFiles, maxBytes, historyDays, maxHistoryBytes } = effectiveSettings({}, config);
  return { maxFiles, maxBytes, historyDays, maxHistoryBytes };
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
