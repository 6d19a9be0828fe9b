import { z } from 'zod';
import { changedValues } from '../../audit/audit.ts';
import { Keys } from '../../auth/api-keys.ts';
import { ServiceError } from '../../errors.ts';
import { nameText } from '../../util/names.ts';
import { noteAudit } from '../audit.ts';
import { scopeOf } from '../authentication.ts';
import { adminRoutes } from '../context.ts';
import { text, time } from '../fields.ts';
import { expiresAt, keyRecord, keySchema, keyWithSecretSchema } from '../key-record.ts';
import { errorResponses, json } from '../responses.ts';

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
