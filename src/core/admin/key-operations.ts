import { z } from 'zod';
import { soughtPart } from '../database/contains-text.ts';
import { ServiceError } from '../errors/errors.ts';
import { parseBound } from '../lib/rfc3339.ts';
import { nameText } from '../lib/text-forms.ts';
import type { Actor } from '../memory/origin.ts';
import { type Rights, rightSchema, rightsSchema } from '../memory/rights.ts';
import { changedValues } from '../tenants/audit.ts';
import type { KeyRow } from '../tenants/key-queries.ts';
import { Keys, keyKind, rightsProblem } from '../tenants/keys.ts';
import { requireTenant } from '../tenants/tenants.ts';
import { noSuchTenant } from './admin-errors.ts';
import { defineOperation } from './admin-operation.ts';
import {
  access,
  count,
  next,
  overlapSeconds,
  pageFields,
  readCursor,
  tenantId,
  text,
  time,
  writeCursor,
} from './fields.ts';
import { requireInScope } from './permissions.ts';

const kind = z.enum(['tenant', 'service', 'admin']).meta({
  description:
    'Valid for one tenant, for all tenants (each request names one in `X-Tenant-Id`), or for this API.',
});

const expiresAt = z.iso
  .datetime({ offset: true })
  .nullable()
  .refine((at) => at === null || Date.parse(at) > Date.now(), 'must be in the future.')
  .refine((at) => toUtc(at) !== undefined, 'must be before the year 10000.');

/** Converts a time to UTC, because Postgres rejects some offsets, for example -16:00. */
function toUtc(at: string | null | undefined): string | null | undefined {
  return typeof at === 'string' ? parseBound(at, 'until') : at;
}

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
  rights: z
    .array(rightSchema)
    .meta({ description: "The key's rights by path. Empty: the access applies to all files." }),
  can_share: z.boolean().meta({
    description: "For a tenant key: whether it may also share the tenant's memory, and accept invitations.",
  }),
  label: z.string(),
  source: z.string().meta({
    description: "The source of the key's writes, recorded in every version. Empty: not specified.",
  }),
  created_at: time,
  expires_at: time.nullable(),
  revoked_at: time.nullable(),
  last_used_at: time.nullable().meta({ description: 'Accurate to five minutes.' }),
  previous_expires_at: time
    .nullable()
    .meta({ description: "After a rotation: the previous secret's expiry, while that secret works." }),
};

const keySchema = z.object(fields).meta({ id: 'Key', description: 'A key, without its secret.' });

const keyWithSecretSchema = z.object({
  ...fields,
  key: z.string().meta({ description: 'The key itself, shown only once.' }),
});

/** Returns rights for the audit trail, which records no paths. */
const accesses = (rights: Rights) => rights.map(({ access }) => access);

export type KeyRecord = ReturnType<typeof keyRecord>;

function keyRecord(row: KeyRow) {
  return {
    id: row.id,
    kind: keyKind(row),
    tenant: row.tenant,
    access: row.access,
    tenants: row.onlyTenants,
    manages_stores: row.managesStores,
    rights: [...(row.rights ?? [])],
    can_share: row.canShare,
    label: row.label,
    source: row.source,
    created_at: row.createdAt,
    expires_at: row.expiresAt,
    revoked_at: row.revokedAt,
    last_used_at: row.lastUsedAt,
    previous_expires_at: row.previousExpiresAt,
  };
}

const params = z.strictObject({ id: text(255) });

const noSuchKey = new ServiceError('no_such_key', 'key_0123456789ab');

const previous = z
  .object({
    expires_at: time,
    last_used_at: time.nullable().meta({ description: 'Accurate to five minutes.' }),
  })
  .nullable()
  .meta({ description: 'The secret before the last rotation, while it still works.' });

const changes = z
  .strictObject({
    label: nameText(255),
    expires_at: expiresAt,
    rights: rightsSchema.meta({ description: 'Replaces all rights by path. Empty: removes them.' }),
  })
  .partial()
  .refine((given) => Object.keys(given).length > 0, 'must have a field to change.');

/* An admin key with a scope receives "not found" for tenant keys outside its scope. */

export const getKey = defineOperation({
  id: 'getKey',
  method: 'GET',
  url: '/keys/:id',
  summary: 'Get a key',
  tag: 'keys',
  scope: 'handler',
  params,
  response: {
    description: 'The key.',
    schema: keySchema.extend({ previous }).meta({ id: 'KeyWithPrevious' }),
  },
  errors: [new ServiceError('unknown_key', 'key_0123456789ab')],
  async run({ database, params: { id }, administrator }) {
    const { previous: before, ...row } = await new Keys(database).get(id, administrator.onlyTenants);
    const earlier = before && { expires_at: before.expiresAt, last_used_at: before.lastUsedAt };
    return { ...keyRecord(row), previous: earlier };
  },
});

export const updateKey = defineOperation({
  id: 'updateKey',
  method: 'PATCH',
  url: '/keys/:id',
  summary: "Change a key's label, expiry, and rights by path",
  description: 'It takes effect within `AUTH_CACHE_SECONDS`. A revoked key cannot be changed.',
  tag: 'keys',
  access: 'read_write',
  scope: 'handler',
  params,
  body: changes,
  response: { description: 'The key.', schema: keySchema },
  errors: [noSuchKey],
  async run({ database, params: { id }, body, administrator, note }) {
    const keys = new Keys(database);
    const expiresAt = toUtc(body.expires_at);
    const given = { label: body.label, expiresAt, rights: body.rights };
    const before = await keys.update(id, given, administrator.onlyTenants);
    const values = {
      label: before.label,
      expires_at: before.expiresAt,
      rights: accesses(before.rights ?? []),
    };
    const after = { ...body, ...(body.rights !== undefined && { rights: accesses(body.rights) }) };
    note({ tenant: before.tenant ?? undefined, details: changedValues(values, after) });
    return keyRecord(await keys.get(id));
  },
});

export const rotateKey = defineOperation({
  id: 'rotateKey',
  method: 'POST',
  url: '/keys/:id/rotate',
  summary: 'Give a key a new secret and show it once',
  description:
    'The id, the label and the rights stay. The previous secret works for `overlap_seconds` more, and up to `AUTH_CACHE_SECONDS` after that. Secrets before it stop working now, so with `overlap_seconds: 0` only the new secret works.',
  tag: 'keys',
  access: 'read_write',
  scope: 'handler',
  params,
  body: z.strictObject({
    overlap_seconds: overlapSeconds.meta({ description: '0: it stops working now.' }),
  }),
  response: { description: 'The key with its new secret.', schema: keyWithSecretSchema },
  errors: [noSuchKey, new ServiceError('key_expired', 'key_0123456789ab')],
  async run({ database, params: { id }, body: { overlap_seconds }, administrator, note }) {
    const keys = new Keys(database);
    const { key, tenant } = await keys.rotate(id, overlap_seconds, administrator.onlyTenants);
    note({ tenant: tenant ?? undefined, details: { overlap_seconds } });
    return { ...keyRecord(await keys.get(id)), key };
  },
});

export const endPreviousSecret = defineOperation({
  id: 'endPreviousSecret',
  method: 'DELETE',
  url: '/keys/:id/previous-secret',
  summary: 'End the secrets that a key had before its last rotation',
  description: 'They stop working within `AUTH_CACHE_SECONDS`. The current secret is unchanged.',
  tag: 'keys',
  access: 'read_write',
  scope: 'handler',
  params,
  status: 204,
  response: { description: 'Ended, or there were none.', schema: z.null() },
  errors: [noSuchKey],
  async run({ database, params: { id }, administrator, note }) {
    const tenant = await new Keys(database).endPrevious(id, administrator.onlyTenants);
    note({ tenant: tenant ?? undefined });
    return null;
  },
});

export const revokeKey = defineOperation({
  id: 'revokeKey',
  method: 'DELETE',
  url: '/keys/:id',
  summary: 'Revoke a key',
  description: 'It stops working everywhere within `AUTH_CACHE_SECONDS`, with a previous secret too.',
  tag: 'keys',
  access: 'read_write',
  scope: 'handler',
  params,
  status: 204,
  response: { description: 'Revoked.', schema: z.null() },
  errors: [noSuchKey],
  async run({ database, params: { id }, administrator, note }) {
    const tenant = await new Keys(database).revoke(id, administrator.onlyTenants, administrator.actor);
    note({ tenant: tenant ?? undefined });
    return null;
  },
});

const MAX_TENANTS = 100;

const newKey = z
  .strictObject({
    kind,
    tenant: tenantId.optional().meta({ description: 'Required for, and only for, tenant keys.' }),
    access: access.default('read_write'),
    tenants: z
      .array(tenantId)
      .min(1)
      .max(MAX_TENANTS)
      .nullable()
      .default(null)
      .meta({
        description:
          'Only for admin keys: the tenants that the key administers; null: all tenants. The key lists ' +
          'no other tenants, and cannot create, copy or rename tenants, or create service and admin ' +
          'keys.',
      }),
    manages_stores: z.boolean().default(false).meta({
      description:
        'Only with the kind `service` and the access `read_write`: the key may also create, change, archive and delete memory stores, and redact versions.',
    }),
    rights: rightsSchema.default([]).meta({
      description:
        "For tenant keys and service keys: rights by path, at most 32. The longest path applies to a file, and no right exceeds the key's access. Changes to paths with `propose` wait in a draft for a reviewer.",
    }),
    can_share: z.boolean().default(false).meta({
      description:
        "Only with the kind `tenant`, the access `read_write`, and without `rights`: the key may also share the tenant's memory with other tenants, and accept their invitations.",
    }),
    label: nameText(255).default('').meta({ description: "The key's purpose." }),
    source: nameText(64)
      .default('')
      .meta({
        description:
          "The source of the key's writes, such as user, web, import, or consolidation. The service " +
          'records it in every version.',
      }),
    expires_at: expiresAt.default(null),
  })
  .refine(({ kind: given, tenant }) => (given === 'tenant') === (tenant !== undefined), {
    error: 'is required for, and only for, tenant keys.',
    path: ['tenant'],
  })
  .refine(({ kind: given, access: allowed }) => allowed !== 'operate' || given === 'admin', {
    error: 'can be operate only for admin keys.',
    path: ['access'],
  })
  .refine(({ kind: given, access: allowed }) => allowed !== 'propose' || given === 'tenant', {
    error: 'can be propose only for tenant keys.',
    path: ['access'],
  })
  .refine(({ kind: given, tenants }) => tenants === null || given === 'admin', {
    error: 'is only for admin keys.',
    path: ['tenants'],
  })
  .refine(
    ({ kind: given, access: allowed, manages_stores: manages }) =>
      !manages || (given === 'service' && allowed === 'read_write'),
    { error: 'is only for service keys that may write.', path: ['manages_stores'] },
  )
  .refine(
    ({ kind: given, access: allowed, can_share: shares }) =>
      !shares || (given === 'tenant' && allowed === 'read_write'),
    { error: 'is only for tenant keys that may write.', path: ['can_share'] },
  )
  .superRefine((key, refinement) => {
    const message = rightsProblem({
      ...key,
      isAdmin: key.kind === 'admin',
      managesStores: key.manages_stores,
      canShare: key.can_share,
    });
    if (message !== undefined) refinement.addIssue({ code: 'custom', message, path: ['rights'] });
  });

const idempotencyKey = z
  .string()
  .regex(/^[\x21-\x7e]{1,255}$/, 'must be 1 to 255 printable ASCII characters without spaces.')
  .optional()
  .meta({
    description:
      'Repeat the request with the same value when its response is lost: the same key gets a new secret, and no second key is created. Kept for 24 hours.',
  });

const MAX_DAYS = 3650;
const order = z.enum(['created', 'used', 'expires']);

/** Maximum number of keys on a page. */
export const MAX_PAGE = 200;

const listQuery = z.strictObject({
  tenant: tenantId.optional().meta({ description: "Only this tenant's keys." }),
  tenant_contains: text(128).optional().meta({ description: 'Part of the tenant ID, case-insensitive.' }),
  kind: kind.optional(),
  status: z.enum(['active', 'expired', 'revoked']).optional(),
  search: text(255).optional().meta({ description: 'Part of the id or the label, case-insensitive.' }),
  unused_days: count(1, MAX_DAYS).optional().meta({
    description: 'Only keys not used for this many days. A key that was never used counts from its creation.',
  }),
  expires_in_days: count(1, MAX_DAYS)
    .optional()
    .meta({ description: 'Only active keys that expire within this many days.' }),
  sort: order.default('created').meta({
    description:
      '`created`: newest first; `used`: longest unused first; `expires`: active keys that expire next first.',
  }),
  ...pageFields(MAX_PAGE, 50),
});

const position = z.strictObject({ order, key: z.number(), id: text(255) });

export const listKeys = defineOperation({
  id: 'listKeys',
  method: 'GET',
  url: '/keys',
  summary: 'List keys, a page at a time',
  description: 'With a key for certain tenants: only keys for these tenants.',
  tag: 'keys',
  scope: 'handler',
  query: listQuery,
  response: { description: 'A page.', schema: z.object({ keys: z.array(keySchema), next }) },
  errors: [noSuchTenant],
  async run({ database, query, administrator: { onlyTenants: scope } }) {
    const { limit, after, tenant = null, kind: only = null, status = null } = query;
    if (tenant !== null) {
      requireInScope(scope, tenant);
      await requireTenant(database, tenant);
    }
    const filter = {
      tenant,
      tenantContains: soughtPart(query.tenant_contains),
      kind: only,
      status,
      search: soughtPart(query.search),
      scope,
      unusedDays: query.unused_days ?? null,
      expiresInDays: query.expires_in_days ?? null,
    };
    const start = readCursor(position, after);
    if (start !== null && start.order !== query.sort) throw new ServiceError('invalid_cursor');
    const page = await new Keys(database).page(filter, start, limit, query.sort);
    return { keys: page.rows.map(keyRecord), next: writeCursor(page.next) };
  },
});

export const createKey = defineOperation({
  id: 'createKey',
  method: 'POST',
  url: '/keys',
  summary: 'Create a key and show it once; only its hash is stored',
  tag: 'keys',
  access: 'read_write',
  scope: 'handler',
  headers: z.looseObject({ 'idempotency-key': idempotencyKey }),
  body: newKey,
  status: 201,
  response: { description: 'The new key.', schema: keyWithSecretSchema },
  errors: [
    noSuchTenant,
    new ServiceError('creation_key_reused'),
    new ServiceError('key_in_use', 'key_0123456789ab'),
  ],
  auditedTenant: ({ tenant }) => tenant,
  async run({ database, body, headers, administrator, note }) {
    const { tenant = null, ...purposeFields } = body;
    note({ details: { ...purposeFields, rights: accesses(body.rights) } });
    const { kind: given, tenants, manages_stores, can_share, expires_at, ...rest } = purposeFields;
    requireInScope(administrator.onlyTenants, tenant);
    const purpose = {
      tenant,
      ...rest,
      isAdmin: given === 'admin',
      onlyTenants: tenants,
      managesStores: manages_stores,
      canShare: can_share,
      expiresAt: toUtc(expires_at) ?? null,
    };
    const keys = new Keys(database);
    const once = headers['idempotency-key'];
    const { id, key } = await (once === undefined
      ? keys.issue(purpose, administrator.actor)
      : keys.issueOnce(
          purpose,
          { key: creationKey(administrator.actor, once), request: JSON.stringify(body) },
          administrator.actor,
        ));
    note({ key: id });
    return { ...keyRecord(await keys.get(id)), key };
  },
  location: ({ id }) => `/keys/${id}`,
});

/** Returns the idempotency key with the actor, so that different admins' equal idempotency keys do not collide. */
function creationKey(actor: Actor, given: string): string {
  return JSON.stringify(['id' in actor ? actor.id : actor.type, given]);
}
