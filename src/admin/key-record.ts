import { z } from 'zod';
import { kindOfKey } from '../auth/api-keys.ts';
import type { KeyRow } from '../auth/key-queries.ts';
import { access, tenantId, time } from './fields.ts';

export const kind = z.enum(['tenant', 'service', 'admin']).meta({
  description:
    'Valid for one tenant, for all tenants (each request names one in `X-Tenant-Id`), or for this API.',
});

export const expiresAt = z.iso
  .datetime({ offset: true })
  .nullable()
  .refine((at) => at === null || Date.parse(at) > Date.now(), 'must be in the future.');

const fields = {
  id: z.string().meta({ examples: ['key_0123456789ab'] }),
  kind,
  tenant: tenantId.nullable(),
  access,
  tenants: z
    .array(tenantId)
    .nullable()
    .meta({ description: 'For an admin key: the tenants that it may administer; null for all.' }),
  manages_stores: z
    .boolean()
    .meta({ description: 'For a service key: whether it may also manage memory stores.' }),
  label: z.string(),
  source: z.string().meta({
    description: 'Where the writes of the key come from; recorded in every version. Empty: not specified.',
  }),
  created_at: time,
  expires_at: time.nullable(),
  revoked_at: time.nullable(),
  last_used_at: time.nullable().meta({ description: 'Accurate to five minutes.' }),
};

export const keySchema = z.object(fields).meta({ id: 'Key', description: 'A key, without its secret.' });

export const keyWithSecretSchema = z.object({
  ...fields,
  key: z.string().meta({ description: 'The key itself, shown only once.' }),
});

export function keyRecord(row: KeyRow) {
  return {
    id: row.id,
    kind: kindOfKey(row),
    tenant: row.tenant,
    access: row.access,
    tenants: row.onlyTenants,
    manages_stores: row.managesStores,
    label: row.label,
    source: row.source,
    created_at: row.createdAt,
    expires_at: row.expiresAt,
    revoked_at: row.revokedAt,
    last_used_at: row.lastUsedAt,
  };
}
