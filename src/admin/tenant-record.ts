import { z } from 'zod';
import type { Config } from '../config.ts';
import { shownMount } from '../memory/mount.ts';
import { effectiveSettings, fullness } from '../tenants/effective-settings.ts';
import type { ListedTenant } from '../tenants/listing-queries.ts';
import { tenantId, time } from './fields.ts';
import { mountRecord } from './mount-record.ts';
import { effectiveSettingsSchema, ownSettingsSchema, settingsRecord } from './settings.ts';
import { detailsSchema } from './tenant-details.ts';

export const tenantSchema = z
  .object({
    id: tenantId,
    ...detailsSchema,
    draft_of: tenantId.nullable().meta({ description: 'The tenant that this is a draft of.' }),
    status: z.enum(['active', 'suspended']),
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
      description: 'Of the file or byte limit, whichever is closer to being reached; null without limits.',
    }),
    mounts: z.array(mountRecord),
    settings: ownSettingsSchema,
    effective: effectiveSettingsSchema,
  })
  .meta({ id: 'Tenant' });

export function tenantRecord(row: ListedTenant, config: Config) {
  const effective = effectiveSettings(row, config);
  return {
    id: row.id,
    name: row.name ?? row.id,
    description: row.description,
    metadata: row.metadata,
    draft_of: row.draftOf,
    status: row.suspendedAt === null ? 'active' : 'suspended',
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
    mounts: row.mounts.map(shownMount),
    settings: settingsRecord(row),
    effective: settingsRecord(effective),
  };
}

/** The drivers differ in what they make of a time. */
export function instant(value: Date | string | null): string | null {
  return value === null ? null : new Date(value).toISOString();
}
