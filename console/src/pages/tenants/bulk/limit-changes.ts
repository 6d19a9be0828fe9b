import { formatSetting, isNumberSetting, type Setting } from '../../../../../src/core/tenants/settings.ts';
import type { Settings } from '../../../api/api-types.ts';
import { count } from '../../../text/format.ts';
import { SETTINGS } from '../../settings/setting-field.tsx';
import type { Target } from './targets.ts';

/** Maximum number of tenants that a sentence names. */
const NAMED = 3;

/** Meaning of 0 if 0 allows less than any other value. */
const NONE = 'none';

/**
 * Describes the tenants whose limits a settings change raises or lowers, one sentence for each setting and direction.
 *
 * @param changes new values by setting; null is the service's default, which is known only if a tenant uses it
 */
export function limitChanges(targets: readonly Target[], changes: Partial<Settings>): string[] {
  return SETTINGS.flatMap(([name, setting]) => {
    const value = changes[name];
    if (value === undefined || !isNumberSetting(setting)) return [];
    const next = value ?? targets.find(({ settings }) => settings[name] === null)?.effective[name];
    if (next === undefined) {
      const own = targets.filter(({ settings }) => settings[name] !== null);
      return own.length === 0
        ? []
        : [`${setting.title}: ${describeTargets(own)} will get the default of the service.`];
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
          : [
              `${setting.title}: ${verb} to ${shown} for ${describeTargets(found, (each) => formatSetting(setting, each.effective[name]))}.`,
            ],
    );
  });
}

/** Orders a setting's values, the most restrictive first. */
const settingRank = (setting: Setting, value: number | string) =>
  value === 0 && 'zero' in setting && setting.zero !== NONE ? Number.POSITIVE_INFINITY : Number(value);

function describeTargets(targets: readonly Target[], describe?: (target: Target) => string): string {
  const named = targets
    .slice(0, NAMED)
    .map((each) => (describe === undefined ? each.id : `${each.id}, now ${describe(each)}`));
  const rest = targets.length - named.length;
  return `${count(targets.length, 'tenant')} (${[...named, ...(rest > 0 ? [`${rest} more`] : [])].join('; ')})`;
}
