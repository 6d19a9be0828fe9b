import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { ServiceError } from '../errors/errors.ts';
import { storedTime } from '../lib/rfc3339.ts';
import { nameText } from '../lib/text.ts';
import { changedValues } from '../tenants/audit.ts';
import type { KeyRow } from '../tenants/key-queries.ts';
import { Keys, kindOfKey } from '../tenants/keys.ts';
import { requireTenant } from '../tenants/tenants.ts';
import { noteAudit } from './audit.ts';
import { administratorOf, scopeOf } from './authentication.ts';
import { adminRoutes } from './context.ts';
import { access, next, pageFields, readCursor, tenantId, text, time, writeCursor } from './fields.ts';
import { requireInScope } from './permissions.ts';
import { errorResponses, json, noSuchTenant } from './responses.ts';

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
  .strictObject({ label: nameText(255), expires_at: expiresAt })
  .partial()
  .refine((given) => Object.keys(given).length > 0, 'must have a field to change.');

const A_WEEK = 7 * 24 * 60 * 60;

/** One key. For an admin key for certain tenants, keys that are not of its tenants do not exist. */
export const singleKeyRoutes = adminRoutes((app, { database }) => {
  const keys = new Keys(database);

  app.get(
    '/keys/:id',
    {
      config: { scope: 'handler' },
      schema: {
        operationId: 'getKey',
        summary: 'Get a key',
        tags: ['keys'],
        params,
        response: {
          200: json('The key.', keySchema.extend({ previous }).meta({ id: 'KeyWithPrevious' })),
          ...errorResponses('reads', [new ServiceError('unknown_key', 'key_0123456789ab')]),
        },
      },
    },
    async (request) => {
      const { previous: before, ...row } = await keys.get(request.params.id, scopeOf(request));
      const earlier = before && { expires_at: before.expiresAt, last_used_at: before.lastUsedAt };
      return { ...keyRecord(row), previous: earlier };
    },
  );

  app.patch(
    '/keys/:id',
    {
      config: { access: 'read_write', scope: 'handler' },
      schema: {
        operationId: 'updateKey',
        summary: "Change a key's label and expiry",
        description: 'It takes effect within `AUTH_CACHE_SECONDS`. A revoked key cannot be changed.',
        tags: ['keys'],
        params,
        body: changes,
        response: { 200: json('The key.', keySchema), ...errorResponses('takes JSON', [noSuchKey]) },
      },
    },
    async (request) => {
      const { id } = request.params;
      const { label, expires_at } = request.body;
      const before = await keys.update(id, { label, expiresAt: expires_at }, scopeOf(request));
      noteAudit(request, {
        tenant: before.tenant ?? undefined,
        details: changedValues({ label: before.label, expires_at: before.expiresAt }, request.body),
      });
      return keyRecord(await keys.get(id));
    },
  );

  app.post(
    '/keys/:id/rotate',
    {
      config: { access: 'read_write', scope: 'handler' },
      schema: {
        operationId: 'rotateKey',
        summary: 'Give a key a new secret and show it once',
        description:
          'The id, the label and the rights stay. The previous secret works for `overlap_seconds` more, and up to `AUTH_CACHE_SECONDS` after that.',
        tags: ['keys'],
        params,
        body: z.strictObject({
          overlap_seconds: z.int().min(0).max(A_WEEK).meta({ description: '0: it stops working now.' }),
        }),
        response: {
          200: json('The key with its new secret.', keyWithSecretSchema),
          ...errorResponses('takes JSON', [noSuchKey, new ServiceError('key_expired', 'key_0123456789ab')]),
        },
      },
    },
    async (request) => {
      const { id } = request.params;
      const { overlap_seconds } = request.body;
      const { key, tenant } = await keys.rotate(id, overlap_seconds, scopeOf(request));
      noteAudit(request, { tenant: tenant ?? undefined, details: { overlap_seconds } });
      return { ...keyRecord(await keys.get(id)), key };
    },
  );

  app.delete(
    '/keys/:id',
    {
      config: { access: 'read_write', scope: 'handler' },
      schema: {
        operationId: 'revokeKey',
        summary: 'Revoke a key',
        description: 'It stops working everywhere within `AUTH_CACHE_SECONDS`, with a previous secret too.',
        tags: ['keys'],
        params,
        response: {
          204: z.null().meta({ description: 'Revoked.' }),
          ...errorResponses('changes', [noSuchKey]),
        },
      },
    },
    async (request, reply) => {
      const tenant = await keys.revoke(request.params.id, scopeOf(request));
      noteAudit(request, { tenant: tenant ?? undefined });
      return reply.code(204).send(null);
    },
  );
});

const MAX_TENANTS = 100;

const newKey = z
  .strictObject({
    kind,
    tenant: tenantId.optional().meta({ description: 'Required for, and only for, tenant keys.' }),
    access: access.default('read_write'),
    tenants: z.array(tenantId).min(1).max(MAX_TENANTS).nullable().default(null).meta({
      description:
        'Only for admin keys: the tenants that the key administers; null: all of them. It lists no others, and cannot create, copy or rename tenants, or create service and admin keys.',
    }),
    manages_stores: z.boolean().default(false).meta({
      description:
        'Only with the kind `service` and the access `read_write`: the key may also create, change, archive and delete memory stores, and redact versions.',
    }),
    label: nameText(255).default('').meta({ description: 'What it is for.' }),
    source: nameText(64).default('').meta({
      description:
        'Where the writes of the key come from, such as user, web, import or consolidation. The service stamps it on every version.',
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
  );

const idempotencyKey = z
  .string()
  .regex(/^[\x21-\x7e]{1,255}$/, 'must be 1 to 255 printable ASCII characters without spaces.')
  .optional()
  .meta({
    description:
      'Repeat the request with the same value when its response is lost: the same key gets a new secret, and no second key is created. Kept for 24 hours.',
  });

const listQuery = z.strictObject({
  tenant: tenantId.optional().meta({ description: 'Only the keys of this tenant.' }),
  kind: kind.optional(),
  status: z.enum(['active', 'expired', 'revoked']).optional(),
  search: text(255).optional().meta({ description: 'Part of the id or the label, case-insensitive.' }),
  ...pageFields(200, 50),
});

const position = z.strictObject({ time: storedTime, id: text(255) });

/** The keys of tenants, services and administrators. */
export const keyRoutes = adminRoutes((app, { database }) => {
  const keys = new Keys(database);

  app.get(
    '/keys',
    {
      config: { scope: 'handler' },
      schema: {
        operationId: 'listKeys',
        summary: 'List keys, newest first, a page at a time',
        description: 'With a key for certain tenants: only the keys of its tenants.',
        tags: ['keys'],
        querystring: listQuery,
        response: {
          200: json('A page.', z.object({ keys: z.array(keySchema), next })),
          ...errorResponses('reads', [noSuchTenant]),
        },
      },
    },
    async (request) => {
      const { limit, after, tenant = null, kind: only = null, status = null, search = null } = request.query;
      const scope = scopeOf(request);
      if (tenant !== null) {
        requireInScope(scope, tenant);
        await requireTenant(database, tenant);
      }
      const filter = { tenant, kind: only, status, search, scope };
      const page = await keys.page(filter, readCursor(position, after), limit);
      return { keys: page.keys.map(keyRecord), next: writeCursor(page.next) };
    },
  );

  app.post(
    '/keys',
    {
      config: { access: 'read_write', scope: 'handler' },
      schema: {
        operationId: 'createKey',
        summary: 'Create a key and show it once; only its hash is stored',
        tags: ['keys'],
        headers: z.looseObject({ 'idempotency-key': idempotencyKey }),
        body: newKey,
        response: {
          201: json('The new key.', keyWithSecretSchema),
          ...errorResponses('takes JSON', [
            noSuchTenant,
            new ServiceError('creation_key_reused'),
            new ServiceError('key_in_use', 'key_0123456789ab'),
          ]),
        },
      },
    },
    async (request, reply) => {
      const { kind: given, tenant = null, tenants, manages_stores, expires_at, ...rest } = request.body;
      noteAudit(request, {
        tenant: tenant ?? undefined,
        details: {
          kind: given,
          access: rest.access,
          tenants,
          manages_stores,
          label: rest.label,
          source: rest.source,
          expires_at,
        },
      });
      requireInScope(scopeOf(request), tenant);
      const purpose = {
        tenant,
        ...rest,
        isAdmin: given === 'admin',
        onlyTenants: tenants,
        managesStores: manages_stores,
        expiresAt: expires_at,
      };
      const creation = creationOf(request, request.headers['idempotency-key']);
      const { id, key } = await (creation ? keys.issueOnce(purpose, creation) : keys.issue(purpose));
      noteAudit(request, { key: id });
      reply.code(201).header('Location', `/v1/keys/${id}`);
      return { ...keyRecord(await keys.get(id)), key };
    },
  );
});

/** Idempotency keys of different administrators do not meet. */
function creationOf(request: FastifyRequest, given: string | undefined) {
  if (given === undefined) return undefined;
  const { actor } = administratorOf(request);
  return {
    key: JSON.stringify(['id' in actor ? actor.id : actor.type, given]),
    request: JSON.stringify(request.body),
  };
}
