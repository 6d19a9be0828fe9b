import { z } from 'zod';
import { settingSchemas } from '../tenants/setting-schemas.ts';
import { ALL_SETTINGS, type TenantSettings } from '../tenants/settings.ts';
import { snakeCase } from '../util/snake-case.ts';

/** By the names of the API. */
const fields = Object.fromEntries(ALL_SETTINGS.map(([name]) => [snakeCase(name), settingSchemas[name]]));

const nullableFields = Object.fromEntries(
  Object.entries(fields).map(([name, field]) => [name, field.nullable()]),
);

export const effectiveSettingsSchema = z
  .object(fields)
  .meta({ id: 'EffectiveSettings', description: 'Settings in effect for a tenant.' });

export const ownSettingsSchema = z
  .object(nullableFields)
  .meta({ id: 'OwnSettings', description: "A tenant's own settings; null: the service's default." });

export const settingsChangeSchema = z.strictObject(nullableFields).partial().meta({
  id: 'SettingsChange',
  description: "The settings to change; null: use the service's default.",
});

/** Settings by the names of the API. */
export function settingsRecord(settings: TenantSettings): Record<string, unknown> {
  return Object.fromEntries(ALL_SETTINGS.map(([name]) => [snakeCase(name), settings[name]]));
}

/** Settings by the names of the service, without those that the request leaves out. */
export function settingsOf(change: z.output<typeof settingsChangeSchema>): Partial<TenantSettings> {
  return Object.fromEntries(
    ALL_SETTINGS.map(([name]) => [name, change[snakeCase(name)]]).filter(([, value]) => value !== undefined),
  );
}
