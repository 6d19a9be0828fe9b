import { z } from 'zod';
import { ServiceError } from '../../errors.ts';
import { findListedTenant, listTenants } from '../../tenants/listing.ts';
import { noTenant, Tenants } from '../../tenants/tenants.ts';
import { tenantUsage } from '../../tenants/usage.ts';
import { adminRoutes } from '../context.ts';
import { readCursor, writeCursor } from '../cursor.ts';
import { next, pageFields, tenantId, tenantParams, text, time } from '../fields.ts';
import { errorResponses, json, noSuchTenant } from '../responses.ts';
import { settingsChangeSchema, settingsOf } from '../settings.ts';
import { instant, tenantRecord, tenantSchema } from '../tenant-record.ts';

const position = z.strictObject({ key: z.number(), id: z.string() });

const listQuery = z.strictObject({
  search: text(128).optional().meta({ description: 'A part of the id, in upper or lower case.' }),
  status: z.enum(['active', 'suspended']).optional(),
  sort: z.enum(['id', 'files', 'bytes', 'used', 'changed']).default('id').meta({
    description:
      'By id going up; the others begin with the most (`used`: by `used_percent`), or with the latest change.',
  }),
  ...pageFields(200, 50),
});

const newTenant = z.strictObject({
  id: tenantId.refine(
    (id) => !/^(-|\.\.?$)/.test(id),
    'a new tenant id does not begin with "-", and is not . or ..',
  ),
  settings: settingsChangeSchema.default({}),
});

const counted = z.int().min(0);
const erasedSchema = z.object({
  id: tenantId,
  erased: z.object({
    entries: counted,
    versions: counted,
    contents: counted,
    directories: counted,
    answers: counted,
    keys: counted,
  }),
});

const used = z.object({
  used: counted,
  limit: counted.nullable().meta({ description: 'Null: no limit.' }),
});
const usageSchema = z
  .object({
    id: tenantId,
    files: used,
    bytes: used,
    history_bytes: used,
    history_versions: counted,
    stored_answers: counted,
    last_activity_at: time.nullable().meta({
      description: 'When a file was last written or read (to the day), or a key of the tenant used.',
    }),
  })
  .meta({ id: 'Usage' });

/** The tenants, their settings and what they use. */
export const tenantRoutes = adminRoutes((app, { config, database }) => {
  const tenants = new Tenants(database);
  const answer = async (id: string) => tenantRecord(await findListedTenant(database, id), config);

  app.get(
    '/tenants',
    {
      schema: {
        operationId: 'listTenants',
        summary: 'List tenants, a page at a time',
        tags: ['tenants'],
        querystring: listQuery,
        response: {
          200: json('A page.', z.object({ tenants: z.array(tenantSchema), next })),
          ...errorResponses('reads'),
        },
      },
    },
    async ({ query: { search, status, sort, limit, after } }) => {
      const page = { limit, after: readCursor(position, after) };
      const listed = await listTenants(database, config, { search, status, order: sort }, page);
      return {
        tenants: listed.tenants.map((row) => tenantRecord(row, config)),
        next: writeCursor(listed.next),
      };
    },
  );

  app.post(
    '/tenants',
    {
      schema: {
        operationId: 'createTenant',
        summary: 'Create a tenant',
        tags: ['tenants'],
        body: newTenant,
        response: {
          201: json('The new tenant.', tenantSchema),
          ...errorResponses('takes JSON', [new ServiceError('tenant_exists', 'acme')]),
        },
      },
    },
    async ({ body: { id, settings } }, reply) => {
      await tenants.createWith(id, settingsOf(settings));
      reply.code(201).header('Location', `/v1/tenants/${encodeURIComponent(id)}`);
      return answer(id);
    },
  );

  app.get(
    '/tenants/:tenant',
    {
      schema: {
        operationId: 'getTenant',
        summary: 'Get a tenant with its settings',
        tags: ['tenants'],
        params: tenantParams,
        response: { 200: json('The tenant.', tenantSchema), ...errorResponses('reads', [noSuchTenant]) },
      },
    },
    ({ params: { tenant } }) => answer(tenant),
  );

  app.patch(
    '/tenants/:tenant',
    {
      schema: {
        operationId: 'updateTenant',
        summary: "Change a tenant's settings",
        description: 'It takes effect within `AUTH_CACHE_SECONDS`.',
        tags: ['tenants'],
        params: tenantParams,
        body: z.strictObject({ settings: settingsChangeSchema }),
        response: { 200: json('The tenant.', tenantSchema), ...errorResponses('takes JSON', [noSuchTenant]) },
      },
    },
    async ({ params: { tenant }, body: { settings } }) => {
      if (!(await tenants.set(tenant, settingsOf(settings)))) throw noTenant(tenant);
      return answer(tenant);
    },
  );

  app.delete(
    '/tenants/:tenant',
    {
      schema: {
        operationId: 'deleteTenant',
        summary: 'Erase a tenant: its files with their history, its keys, its settings',
        description: 'For good. When it is cut short, the tenant is suspended: erase it again.',
        tags: ['tenants'],
        params: tenantParams,
        response: {
          200: json('What was erased, in rows.', erasedSchema),
          ...errorResponses('changes', [noSuchTenant]),
        },
      },
    },
    async ({ params: { tenant } }) => {
      const erased = await tenants.delete(tenant);
      if (erased === undefined) throw noTenant(tenant);
      return { id: tenant, erased };
    },
  );

  for (const [name, suspended, summary] of [
    ['suspend', true, 'Refuse all requests of a tenant'],
    ['resume', false, 'Let a suspended tenant in again'],
  ] as const) {
    app.post(
      `/tenants/:tenant/${name}`,
      {
        schema: {
          operationId: `${name}Tenant`,
          summary,
          description: 'It takes effect within `AUTH_CACHE_SECONDS`.',
          tags: ['tenants'],
          params: tenantParams,
          response: { 200: json('The tenant.', tenantSchema), ...errorResponses('changes', [noSuchTenant]) },
        },
      },
      async ({ params: { tenant } }) => {
        if (!(await tenants.suspend(tenant, suspended))) throw noTenant(tenant);
        return answer(tenant);
      },
    );
  }

  app.get(
    '/tenants/:tenant/usage',
    {
      schema: {
        operationId: 'getUsage',
        summary: 'What a tenant uses of its limits',
        tags: ['tenants'],
        params: tenantParams,
        response: { 200: json('The usage.', usageSchema), ...errorResponses('reads', [noSuchTenant]) },
      },
    },
    async ({ params: { tenant } }) => {
      const { files, bytes, historyBytes, ...usage } = await tenantUsage(tenants, config, tenant);
      return {
        ...{ id: tenant, files, bytes, history_bytes: historyBytes },
        history_versions: usage.historyVersions,
        stored_answers: usage.storedAnswers,
        last_activity_at: instant(usage.lastActivityAt),
      };
    },
  );
});
