import { z } from 'zod';
import { expectedQuantity, parseQuantity } from '../lib/units.ts';
import { pinnedPathsSchema } from './pinned-paths.ts';
import {
  isNumberSetting,
  type NumberSetting,
  type Setting,
  type SettingName,
  type SettingValue,
  settingsFrom,
} from './settings.ts';

/** Schemas for settings in JSON, by name. */
export const settingSchemas = settingsFrom<{ [Name in SettingName]: z.ZodType<SettingValue<Name>> }>(
  (_, setting) => settingSchema(setting).meta({ description: settingDescription(setting) }),
);

/** Schemas for settings in JSON that people write. They also accept quantities such as `"10MB"` and `"90d"`. */
export const typedSettingSchemas = settingsFrom<typeof settingSchemas>((name, setting) =>
  isNumberSetting(setting)
    ? z.preprocess(createNumberParser(setting), settingSchemas[name])
    : settingSchemas[name],
);

function createNumberParser({ unit }: NumberSetting) {
  return (given: unknown, context: z.RefinementCtx): unknown => {
    if (typeof given !== 'string') return given;
    const value = parseQuantity(given, unit);
    if (value !== undefined) return value;
    context.addIssue(`must be ${expectedQuantity(unit)}`);
    return z.NEVER;
  };
}

function settingSchema(setting: Setting): z.ZodType {
  if ('choices' in setting) return z.enum(Object.keys(setting.choices));
  return isNumberSetting(setting) ? z.int().min(0).max(setting.max) : pinnedPathsSchema(setting);
}

function settingDescription(setting: Setting): string {
  const sentence = `${setting.help.charAt(0).toUpperCase()}${setting.help.slice(1)}.`;
  return isNumberSetting(setting) ? `${sentence} 0: ${setting.zero}.` : sentence;
}
