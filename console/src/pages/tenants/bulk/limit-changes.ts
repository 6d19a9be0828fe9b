import { formatSetting, isNumberSetting, type Setting } from '../../../../../src/core/tenants/settings.ts';
import type { Settings } from '../../../api/api-types.ts';
import { count } from '../../../text/format.ts';
import { SETTINGS } from '../../settings/setting-field.tsx';
import type { Target } from './targets.ts';

/** Meaning of 0 if 0 allows less than any other value. */
const NONE = 'none';

/** A setting's value in a tenant before and after a change, as text. */
export interface SettingChange {
  tenant: string;
  title: string;
  before: string;
  after: string;
}

/**
 * Lists the settings to which a change gives another value, by tenant.
 *
 * @param changes new values by setting; null is the service's default
 */
export function settingChanges(targets: readonly Target[], changes: Partial<Settings>): SettingChange[] {
  const changed = SETTINGS.filter(([name]) => changes[name] !== undefined);
  return targets.flatMap(({ id, settings, effective }) =>
    changed
      .filter(([name]) => changes[name] !== settings[name])
      .map(([name, setting]) => {
        const text = (own: number | string | null | undefined, inEffect?: number | string) =>
          own != null ? formatSetting(setting, own) : defaultText(setting, inEffect);
        return {
          tenant: id,
          title: setting.title,
          before: text(settings[name], effective[name]),
          after: text(changes[name], findDefault(targets, name)),
        };
      }),
  );
}

const defaultText = (setting: Setting, value: number | string | undefined) =>
  value === undefined ? 'default' : `default (${formatSetting(setting, value)})`;

/** Returns a setting's default, which is known only if a tenant uses it. */
const findDefault = (targets: readonly Target[], name: keyof Settings) =>
  targets.find(({ settings }) => settings[name] === null)?.effective[name];

/**
 * Counts the tenants whose limits a settings change raises or lowers, one sentence for each setting and direction.
 *
 * @param changes new values by setting; null is the service's default, which is known only if a tenant uses it
 */
export function limitChanges(targets: readonly Target[], changes: Partial<Settings>): string[] {
  return SETTINGS.flatMap(([name, setting]) => {
    const value = changes[name];
    if (value === undefined || !isNumberSetting(setting)) return [];
    const next = value ?? findDefault(targets, name);
    if (next === undefined) {
      const own = targets.filter(({ settings }) => settings[name] !== null);
      return own.length === 0
        ? []
        : [`${setting.title}: ${count(own.length, 'tenant')} will get the service's default.`];
    }
    const [to, shown] = [settingRank(setting, next), formatSetting(setting, next)];
    const findDifferent = (isRaised: boolean) =>
      targets.filter(({ effective }) => {
        const from = settingRank(setting, effective[name]);
        return isRaised ? from < to : from > to;
      });
    return [['raised', findDifferent(true)] as const, ['lowered', findDifferent(false)] as const].flatMap(
      ([verb, found]) =>
        found.length === 0
          ? []
          : [`${setting.title}: ${verb} to ${shown} for ${count(found.length, 'tenant')}.`],
    );
  });
}

/** Orders a setting's values, the most restrictive first. */
const settingRank = (setting: Setting, value: number | string) =>
  value === 0 && 'zero' in setting && setting.zero !== NONE ? Number.POSITIVE_INFINITY : Number(value);
