import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { Keys } from '../../auth/api-keys.ts';
import { ServiceError } from '../../errors.ts';
import { requireTenant } from '../../tenants/tenants.ts';
import { nameText } from '../../util/names.ts';
import { storedTime } from '../../util/rfc3339.ts';
import { noteAudit } from '../audit.ts';
import { administratorOf, scopeOf } from '../authentication.ts';
import { adminRoutes } from '../context.ts';
import { readCursor, writeCursor } from '../cursor.ts';
import { access, next, pageFields, tenantId, text } from '../fields.ts';
import { expiresAt, keyRecord, keySchema, keyWithSecretSchema, kind } from '../key-record.ts';
import { requireInScope } from '../permissions.ts';
import { errorResponses, json, noSuchTenant } from '../responses.ts';

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
