import { z } from 'zod';
import { type Setting, type SettingName, type SettingValue, settingsFrom } from './settings.ts';

/** What JSON may set: a schema for each setting, by its name. */
export const settingSchemas = settingsFrom<{ [Name in SettingName]: z.ZodType<SettingValue<Name>> }>(
  (_, setting) => schemaOf(setting).meta({ description: descriptionOf(setting) }),
);

function schemaOf(setting: Setting): z.ZodType {
  if ('choices' in setting) return z.enum(Object.keys(setting.choices));
  return z.int().min(0).max(setting.max);
}

function descriptionOf(setting: Setting): string {
  const sentence = `${setting.help.charAt(0).toUpperCase()}${setting.help.slice(1)}.`;
  return 'choices' in setting ? sentence : `${sentence} 0: ${setting.zero}.`;
}
