import { z } from 'zod';
import { MAX_HISTORY_DAYS } from '../config.ts';
import type { TenantSettings } from '../tenants/queries.ts';

const limit = z.int().min(0);
/** A hundred years, as for the whole service (`MEMORY_TTL_DAYS`). */
const MAX_TTL_DAYS = 36_500;

const fields = {
  max_file_bytes: limit.meta({ description: 'The largest file.' }),
  max_bytes: limit.meta({ description: 'All files together.' }),
  max_files: limit,
  max_view_chars: limit.meta({ description: 'The longest result of `view`.' }),
  rate_per_minute: limit.meta({ description: 'Requests to `/execute`.' }),
  max_body_bytes: limit.meta({ description: "The largest body of a request, within the service's limit." }),
  ttl_days: limit
    .max(MAX_TTL_DAYS)
    .meta({ description: 'Days after which a file that is not used is removed; 0: never.' }),
  history_days: limit
    .max(MAX_HISTORY_DAYS)
    .meta({ description: 'Days for which superseded versions are kept; 0: none.' }),
  max_history_bytes: limit,
  redact: z.enum(['off', 'mask', 'reject']).meta({ description: 'What happens to secrets.' }),
  create_existing: z
    .enum(['error', 'overwrite'])
    .meta({ description: 'What `create` does with a file that exists.' }),
};

type Fields = typeof fields;

const nullableFields = Object.fromEntries(
  Object.entries(fields).map(([name, field]) => [name, field.nullable()]),
) as { [name in keyof Fields]: z.ZodNullable<Fields[name]> };

export const effectiveSettingsSchema = z
  .object(fields)
  .meta({ id: 'EffectiveSettings', description: 'What holds for a tenant. 0 means no limit.' });

export const ownSettingsSchema = z
  .object(nullableFields)
  .meta({ id: 'OwnSettings', description: "A tenant's own settings; null: the service's default holds." });

export const settingsChangeSchema = z.strictObject(nullableFields).partial().meta({
  id: 'SettingsChange',
  description: "The settings to change; null: the service's default is to hold.",
});

const NAMES = {
  maxFileBytes: 'max_file_bytes',
  maxBytes: 'max_bytes',
  maxFiles: 'max_files',
  maxViewChars: 'max_view_chars',
  ratePerMinute: 'rate_per_minute',
  maxBodyBytes: 'max_body_bytes',
  ttlDays: 'ttl_days',
  redact: 'redact',
  createExisting: 'create_existing',
  historyDays: 'history_days',
  maxHistoryBytes: 'max_history_bytes',
} as const satisfies Record<keyof TenantSettings, keyof Fields>;

/** Settings by the names of the API. */
export function settingsRecord(settings: TenantSettings): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(NAMES).map(([name, field]) => [field, settings[name as keyof TenantSettings]]),
  );
}

/** Settings by the names of the service, without those that the request leaves out. */
export function settingsOf(change: z.output<typeof settingsChangeSchema>): Partial<TenantSettings> {
  return Object.fromEntries(
    Object.entries(NAMES)
      .map(([name, field]) => [name, change[field]])
      .filter(([, value]) => value !== undefined),
  );
}
