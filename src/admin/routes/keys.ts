import { z } from 'zod';
import type { KeyRow } from '../../auth/api-key-queries.ts';
import { Keys, kindOfKey } from '../../auth/api-keys.ts';
import { ServiceError } from '../../errors.ts';
import { requireTenant } from '../../tenants/tenants.ts';
import { noteAudit } from '../audit.ts';
import { adminRoutes } from '../context.ts';
import { readCursor, writeCursor } from '../cursor.ts';
import { access, next, pageFields, tenantId, text, time } from '../fields.ts';
import { errorResponses, json, noSuchTenant } from '../responses.ts';
import { instant } from '../tenant-record.ts';

const kind = z.enum(['tenant', 'service', 'admin']).meta({
  description:
    'Valid for one tenant, for all tenants (each request names one in `X-Tenant-Id`), or for this API.',
});

const keyFields = {
  id: z.string().meta({ examples: ['key_0123456789ab'] }),
  kind,
  tenant: tenantId.nullable(),
  access,
  manages_stores: z.boolean().meta({ description: 'Of a service key: it may manage memory stores, too.' }),
  label: z.string(),
  created_at: time,
  expires_at: time.nullable(),
  revoked_at: time.nullable(),
  last_used_at: time.nullable().meta({ description: 'Accurate to five minutes.' }),
};
const keySchema = z.object(keyFields).meta({ id: 'Key', description: 'A key; never the key itself.' });
const { revoked_at: _revoked, last_used_at: _used, created_at: _created, ...issuedFields } = keyFields;
const issuedSchema = z.object({
  ...issuedFields,
  key: z.string().meta({ description: 'The key itself, shown only once.' }),
});

const newKey = z
  .strictObject({
    kind,
    tenant: tenantId.optional().meta({ description: 'Required for, and only for, tenant keys.' }),
    access: access.default('read_write'),
    manages_stores: z.boolean().default(false).meta({
      description:
        'Only with the kind `service` and the access `read_write`: the key may also create, change, archive and delete memory stores, and redact versions.',
    }),
    label: text(255).default('').meta({ description: 'What it is for.' }),
    expires_at: z.iso.datetime({ offset: true }).nullable().default(null),
  })
  .refine(({ kind: given, tenant }) => (given === 'tenant') === (tenant !== undefined), {
    error: 'is required for, and only for, tenant keys.',
    path: ['tenant'],
  })
  .refine(
    ({ kind: given, access: allowed, manages_stores: manages }) =>
      !manages || (given === 'service' && allowed === 'read_write'),
    { error: 'only a service key that may write manages stores', path: ['manages_stores'] },
  )
  .refine(({ expires_at: at }) => at === null || Date.parse(at) > Date.now(), {
    error: 'must be in the future.',
    path: ['expires_at'],
  });

const position = z.strictObject({ time: z.iso.datetime(), id: text(255) });

/** The keys of tenants, services and administrators. */
export const keyRoutes = adminRoutes((app, { database }) => {
  const keys = new Keys(database);

  app.get(
    '/keys',
    {
      schema: {
        operationId: 'listKeys',
        summary: 'List keys, newest first, a page at a time',
        tags: ['keys'],
        querystring: z.strictObject({
          tenant: tenantId.optional().meta({ description: 'Only the keys of this tenant.' }),
          ...pageFields(200, 50),
        }),
        response: {
          200: json('A page.', z.object({ keys: z.array(keySchema), next })),
          ...errorResponses('reads', [noSuchTenant]),
        },
      },
    },
    async ({ query: { tenant, limit, after } }) => {
      if (tenant !== undefined) await requireTenant(database, tenant);
      const page = await keys.page(tenant ?? null, readCursor(position, after), limit);
      return { keys: page.keys.map(keyRecord), next: writeCursor(page.next) };
    },
  );

  app.post(
    '/keys',
    {
      schema: {
        operationId: 'createKey',
        summary: 'Create a key and show it once; only its hash is stored',
        tags: ['keys'],
        body: newKey,
        response: {
          201: json('The new key.', issuedSchema),
          ...errorResponses('takes JSON', [noSuchTenant]),
        },
      },
    },
    async (request, reply) => {
      const { kind: given, tenant = null, access: allowed, label, expires_at, manages_stores } = request.body;
      noteAudit(request, {
        tenant: tenant ?? undefined,
        details: { kind: given, access: allowed, manages_stores, label, expires_at },
      });
      if (tenant !== null) await requireTenant(database, tenant);
      const expiresAt = instant(expires_at);
      const isAdmin = given === 'admin';
      const { id, key } = await keys.issue({
        ...{ tenant, isAdmin, access: allowed, label, expiresAt },
        managesStores: manages_stores,
      });
      noteAudit(request, { key: id });
      reply.code(201);
      return { id, kind: given, tenant, access: allowed, manages_stores, label, expires_at: expiresAt, key };
    },
  );

  app.delete(
    '/keys/:id',
    {
      schema: {
        operationId: 'revokeKey',
        summary: 'Revoke a key',
        description: 'It stops working everywhere within `AUTH_CACHE_SECONDS`.',
        tags: ['keys'],
        params: z.strictObject({ id: text(255) }),
        response: {
          204: z.null().meta({ description: 'Revoked.' }),
          ...errorResponses('changes', [new ServiceError('no_such_key', 'key_0123456789ab')]),
        },
      },
    },
    async ({ params: { id } }, reply) => {
      await keys.revoke(id);
      return reply.code(204).send(null);
    },
  );
});

function keyRecord(row: KeyRow) {
  return {
    ...{ id: row.id, kind: kindOfKey(row), tenant: row.tenant, access: row.access, label: row.label },
    manages_stores: row.managesStores,
    created_at: instant(row.createdAt),
    expires_at: instant(row.expiresAt),
    revoked_at: instant(row.revokedAt),
    last_used_at: instant(row.lastUsedAt),
  };
}
