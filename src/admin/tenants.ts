import { z } from 'zod';
import { ServiceError } from '../errors/errors.ts';
import { changedValues } from '../tenants/audit.ts';
import { copyTenant, renameTenant } from '../tenants/copy.ts';
import { forgetTenant } from '../tenants/forget.ts';
import { findListedTenant, listTenants } from '../tenants/listing.ts';
import { refuseMounted } from '../tenants/mounts.ts';
import { MAX_METADATA, mergeDetails, Stores } from '../tenants/stores.ts';
import { type Erased, NOTHING_ERASED, Tenants } from '../tenants/tenants.ts';
import { noteAudit } from './audit.ts';
import { originOf, scopeOf } from './authentication.ts';
import { adminRoutes } from './context.ts';
import {
  count,
  flag,
  newTenantId,
  next,
  pageFields,
  readCursor,
  tenantId,
  tenantParams,
  text,
  writeCursor,
} from './fields.ts';
import { archived, errorResponses, json, noSuchTenant } from './responses.ts';
import {
  detailsChange,
  detailsOf,
  newDetails,
  settingsChangeSchema,
  settingsOf,
  settingsRecord,
  tenantRecord,
  tenantSchema,
} from './tenant-record.ts';

const sort = z.enum(['id', 'files', 'bytes', 'used', 'changed']);

const position = z.strictObject({ sort, key: z.number(), id: z.string() });

const listQuery = z.strictObject({
  search: text(128).optional().meta({ description: 'Part of the id or the name, case-insensitive.' }),
  status: z.enum(['active', 'suspended']).optional(),
  near_limit: count(1, 1000)
    .optional()
    .meta({ description: 'Only tenants with at least this `used_percent`.' }),
  sort: sort.default('id').meta({
    description:
      '`id` is ascending; the others start with the largest (`used`: by `used_percent`) or the most recent change.',
  }),
  ...pageFields(200, 50),
});

const newTenant = z.strictObject({
  id: newTenantId,
  ...newDetails,
  settings: settingsChangeSchema.default({}),
});

const tenantChange = z
  .strictObject({ settings: settingsChangeSchema.optional(), ...detailsChange })
  .refine((given) => Object.keys(given).length > 0, 'must have a field to change.');

const FORGOTTEN = 'forgotten_9f86d081884c7d659a2feaa0c55ad015';

const counted = z.int().min(0);
const erasedSchema = z.object({
  id: tenantId,
  erased: z.object({
    entries: counted,
    versions: counted,
    directories: counted,
    stored_results: counted,
    keys: counted,
  }),
  forgotten: z
    .object({
      hash: z
        .string()
        .meta({ description: 'In place of the id, the same in all events.', example: FORGOTTEN }),
      events: counted.meta({ description: 'The events that contained the id, with that of this request.' }),
    })
    .optional()
    .meta({ description: 'With `forget`.' }),
});

function rowsOf({ storedResults, ...rows }: Erased) {
  return { ...rows, stored_results: storedResults };
}

function missing(tenant: string): never {
  throw new ServiceError('no_such_tenant', tenant);
}

/** The tenants and their settings. */
export const tenantRoutes = adminRoutes((app, { config, database }) => {
  const tenants = new Tenants(database);
  const stores = new Stores(database);
  const recordOf = async (id: string) => tenantRecord(await findListedTenant(database, id), config);

  app.get(
    '/tenants',
    {
      config: { scope: 'handler' },
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
    async (request) => {
      const { search, status, near_limit: nearLimit, sort: order, limit, after } = request.query;
      const page = { limit, after: readCursor(position, after) };
      if (page.after !== null && page.after.sort !== order) throw new ServiceError('invalid_cursor');
      const filter = { search, status, nearLimit, order, scope: scopeOf(request) };
      const listed = await listTenants(database, config, filter, page);
      return {
        tenants: listed.tenants.map((row) => tenantRecord(row, config)),
        next: writeCursor(listed.next && { sort: order, ...listed.next }),
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
    async (request, reply) => {
      const { id, settings } = request.body;
      const details = detailsOf(request.body);
      noteAudit(request, { tenant: id, details: { ...settings, ...details } });
      await tenants.createWith(id, settingsOf(settings), details);
      reply.code(201).header('Location', `/v1/tenants/${encodeURIComponent(id)}`);
      return recordOf(id);
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
    ({ params: { tenant } }) => recordOf(tenant),
  );

  app.patch(
    '/tenants/:tenant',
    {
      schema: {
        operationId: 'updateTenant',
        summary: "Change a tenant's settings, name, description and metadata",
        description: 'It takes effect within `AUTH_CACHE_SECONDS`.',
        tags: ['tenants'],
        params: tenantParams,
        body: tenantChange,
        response: {
          200: json('The tenant.', tenantSchema),
          ...errorResponses('takes JSON', [
            noSuchTenant,
            archived,
            new ServiceError('too_much_metadata', MAX_METADATA),
          ]),
        },
      },
    },
    async (request) => {
      const { tenant } = request.params;
      const { settings = {} } = request.body;
      const details = detailsOf(request.body);
      const before = await tenants.find(tenant);
      if (before === undefined) throw new ServiceError('no_such_tenant', tenant);
      if (Object.keys(details).length > 0)
        await stores.update(tenant, (current) => mergeDetails(current, details));
      if (!(await tenants.set(tenant, settingsOf(settings))))
        throw new ServiceError('no_such_tenant', tenant);
      noteAudit(request, {
        details: { ...changedValues(settingsRecord(before), settings), ...changedValues(before, details) },
      });
      return recordOf(tenant);
    },
  );

  app.delete(
    '/tenants/:tenant',
    {
      config: { access: 'read_write' },
      schema: {
        operationId: 'deleteTenant',
        summary: 'Delete a tenant with its files, history, keys and settings',
        description:
          'This cannot be undone. If it is interrupted, the tenant stays suspended: delete it again.',
        tags: ['tenants'],
        params: tenantParams,
        querystring: z.strictObject({
          force: flag
            .default(false)
            .meta({ description: 'Delete it even if other tenants mount it. Their mounts stay.' }),
          forget: flag.default(false).meta({
            description:
              'Also replace its id in the audit trail by a hash, once it is deleted or if it was deleted before.',
          }),
        }),
        response: {
          200: json('Number of deleted rows.', erasedSchema),
          ...errorResponses('changes', [
            noSuchTenant,
            new ServiceError('tenant_is_mounted', 'team', ['acme', 'globex'], false),
          ]),
        },
      },
    },
    async (request) => {
      const { tenant } = request.params;
      const { force, forget } = request.query;
      const exists = (await tenants.find(tenant)) !== undefined;
      if (exists && !force) await refuseMounted(database, tenant, scopeOf(request));
      const erased = exists ? await tenants.delete(tenant) : undefined;
      if (erased !== undefined) noteAudit(request, { details: { ...erased } });
      if (!forget) return { id: tenant, erased: rowsOf(erased ?? missing(tenant)) };
      const forgotten = await forgetTenant(database, tenant);
      noteAudit(request, { tenant: forgotten.hash, details: { forgotten_events: forgotten.events } });
      // The event of this request contains the id, too.
      if (erased === undefined && forgotten.events <= 1) missing(tenant);
      return { id: tenant, erased: rowsOf(erased ?? NOTHING_ERASED), forgotten };
    },
  );
});

/** Suspending and resuming a tenant. */
export const suspensionRoutes = adminRoutes((app, { config, database }) => {
  const tenants = new Tenants(database);

  for (const [name, suspended, summary] of [
    ['suspend', true, 'Reject all requests of a tenant'],
    ['resume', false, 'Accept requests of a suspended tenant again'],
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
      async (request) => {
        const { tenant } = request.params;
        const before = await tenants.find(tenant);
        if (!(await tenants.suspend(tenant, suspended))) throw new ServiceError('no_such_tenant', tenant);
        noteAudit(request, { details: { suspended: { old: before?.suspendedAt != null, new: suspended } } });
        return tenantRecord(await findListedTenant(database, tenant), config);
      },
    );
  }
});

/** How many of the tenants that mount a renamed one a response lists. */
const MAX_LISTED = 1000;

const renamedSchema = tenantSchema
  .extend({
    mounted_by: z
      .array(tenantId)
      .meta({ description: `The tenants that mount it: the first ${MAX_LISTED}, sorted.` }),
  })
  .meta({ id: 'RenamedTenant' });

const body = z.strictObject({ to: newTenantId.meta({ description: 'The id of the new tenant.' }) });

/** Copying and renaming a tenant. */
export const tenantCopyRoutes = adminRoutes((app, { config, database }) => {
  const errors = errorResponses('takes JSON', [noSuchTenant, new ServiceError('tenant_exists', 'globex')]);

  app.post(
    '/tenants/:tenant/copy',
    {
      config: { access: 'read_write', scope: 'fleet' },
      schema: {
        operationId: 'copyTenant',
        summary: 'Copy a tenant: its files and settings as of one moment, without keys and history',
        description: 'In one transaction. Writes to the tenant wait until it is done.',
        tags: ['tenants'],
        params: tenantParams,
        body,
        response: { 200: json('The new tenant.', tenantSchema), ...errors },
      },
    },
    async (request) => {
      const { tenant } = request.params;
      const { to } = request.body;
      noteAudit(request, { details: { to } });
      await copyTenant(database, tenant, to, originOf(request));
      return tenantRecord(await findListedTenant(database, to), config);
    },
  );

  app.post(
    '/tenants/:tenant/rename',
    {
      config: { access: 'read_write', scope: 'fleet' },
      schema: {
        operationId: 'renameTenant',
        summary: 'Rename a tenant, with its files, history, settings, keys and stored results',
        description:
          'In one transaction. Writes to the tenant wait until it is done. Mounts of the tenant show it under its new id. Keys work for the new id within `AUTH_CACHE_SECONDS`; clients that send the id must send the new one.',
        tags: ['tenants'],
        params: tenantParams,
        body,
        response: { 200: json('The tenant with its new id.', renamedSchema), ...errors },
      },
    },
    async (request) => {
      const { tenant } = request.params;
      const { to } = request.body;
      noteAudit(request, { details: { to } });
      const { mountedBy } = await renameTenant(database, tenant, to);
      const renamed = tenantRecord(await findListedTenant(database, to), config);
      return { ...renamed, mounted_by: mountedBy.slice(0, MAX_LISTED) };
    },
  );
});
