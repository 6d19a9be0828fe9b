import { z } from 'zod';
import type { Config } from '../config.ts';
import { nameText, snakeCase } from '../lib/text-forms.ts';
import { MOUNT_ACCESS, toShownMount } from '../memory/mount.ts';
import { effectiveSettings, fullness } from '../tenants/effective-settings.ts';
import { MAX_METADATA, metadataKey, metadataPairs, metadataValue } from '../tenants/metadata.ts';
import { shownPrefix } from '../tenants/mounts.ts';
import { settingSchemas } from '../tenants/setting-schemas.ts';
import { ALL_SETTINGS, type TenantSettings } from '../tenants/settings.ts';
import type { StoreDetailsChange } from '../tenants/stores.ts';
import { deriveStatus, type ListedTenant } from '../tenants/tenant-listing.ts';
import { tenantId, text, time } from './fields.ts';
import { tenantStatus } from './tenant-filter.ts';

const name = nameText(255).min(1).meta({ description: 'A display name, not unique. By default, the id.' });
const description = text(1024).meta({
  description: "The memory's contents, described for people and agents.",
});
const tooMany = `must have at most ${MAX_METADATA} pairs.`;

/** Fields for a tenant's name, description, and metadata in responses. */
export const detailsSchema = { name, description, metadata: z.record(z.string(), z.string()) };

/** Fields for a new tenant's name, description, and metadata. */
export const newDetails = {
  name: name.optional(),
  description: description.optional(),
  metadata: metadataPairs(metadataKey, metadataValue)
    .refine((pairs) => Object.keys(pairs).length <= MAX_METADATA, tooMany)
    .optional()
    .meta({
      description: `Pairs for your own use, such as \`{"plan": "pro"}\`. At most ${MAX_METADATA} pairs.`,
    }),
};

/** Fields for a change to a tenant's name, description, and metadata. */
export const detailsChange = {
  ...newDetails,
  metadata: metadataPairs(metadataKey, metadataValue.nullable())
    .optional()
    .meta({
      description: `Pairs to set; null removes a pair, and omitted pairs stay. At most ${MAX_METADATA} in all.`,
    }),
};

export function pickDetails({ name, description, metadata }: StoreDetailsChange): StoreDetailsChange {
  return Object.fromEntries(
    Object.entries({ name, description, metadata }).filter(([, value]) => value !== undefined),
  );
}

/** The settings under their names in the API. */
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

export function settingsRecord(settings: TenantSettings): Record<string, unknown> {
  return Object.fromEntries(ALL_SETTINGS.map(([name]) => [snakeCase(name), settings[name]]));
}

/** Converts a request's settings to their names in code, without omitted settings. */
export function pickSettings(change: z.output<typeof settingsChangeSchema>): Partial<TenantSettings> {
  return Object.fromEntries(
    ALL_SETTINGS.map(([name]) => [name, change[snakeCase(name)]]).filter(([, value]) => value !== undefined),
  );
}

export const mountRecord = z
  .object({
    name: z.string(),
    tenant: tenantId.nullable().meta({
      description: "Null for a tenant outside the admin key's scope.",
    }),
    access: z.enum(MOUNT_ACCESS),
    prefix: shownPrefix,
    instructions: z.string(),
  })
  .meta({ id: 'Mount', description: 'Another memory that a tenant shows as a directory.' });

export const tenantSchema = z
  .object({
    id: tenantId,
    ...detailsSchema,
    draft_of: tenantId.nullable().meta({ description: 'For a draft: its original tenant.' }),
    status: tenantStatus,
    created_at: time,
    suspended_at: time.nullable(),
    archived_at: time.nullable().meta({ description: 'Since when files can only be read and deleted.' }),
    last_change_at: time.nullable().meta({ description: 'When a file last changed; null if never.' }),
    files: z.int(),
    bytes: z.int(),
    history_versions: z.int(),
    history_bytes: z.int(),
    history_since: time.meta({ description: 'The time since which the history is complete.' }),
    used_percent: z.int().nullable().meta({
      description:
        'Percentage of the file or byte limit, whichever is closer to being reached; null without limits.',
    }),
    mounts: z.array(mountRecord),
    settings: ownSettingsSchema,
    effective: effectiveSettingsSchema,
  })
  .meta({ id: 'Tenant' });

export type TenantRecord = ReturnType<typeof tenantRecord>;

export function tenantRecord(row: ListedTenant, config: Config) {
  const effective = effectiveSettings(row, config);
  return {
    id: row.id,
    name: row.name ?? row.id,
    description: row.description,
    metadata: row.metadata,
    draft_of: row.draftOf,
    status: deriveStatus(row),
    created_at: row.createdAt,
    suspended_at: row.suspendedAt,
    archived_at: row.archivedAt,
    last_change_at: row.lastChangeAt,
    files: row.files,
    bytes: row.bytes,
    history_versions: row.historyVersions,
    history_bytes: row.historyBytes,
    history_since: row.historySince,
    used_percent: fullness(row, effective)?.percent ?? null,
    mounts: row.mounts.map(toShownMount),
    settings: settingsRecord(row),
    effective: settingsRecord(effective),
  };
}

/** Returns a time in ISO 8601. Depending on the driver, the database returns a date or a string. */
export function instant(value: Date | string | null): string | null {
  return value === null ? null : new Date(value).toISOString();
}
