import { z } from 'zod';
import type { Config } from '../config.ts';
import type { Database } from '../database/database.ts';
import { ServiceError } from '../errors/errors.ts';
import { changedValues } from '../tenants/audit.ts';
import { copyTenantData, moveTenantData } from '../tenants/copy.ts';
import { tenantDefaults } from '../tenants/effective-settings.ts';
import { forgetTenant } from '../tenants/forget.ts';
import { MAX_METADATA, parsePairs } from '../tenants/metadata.ts';
import { rejectMounted } from '../tenants/mounts.ts';
import { addReceipt, type Erasure } from '../tenants/receipts.ts';
import { Stores } from '../tenants/stores.ts';
import { countTenants, findListedTenant, readTenantPage } from '../tenants/tenant-listing.ts';
import { type Erased, NOTHING_ERASED, requireTenant, Tenants } from '../tenants/tenants.ts';
import { archived, noSuchTenant } from './admin-errors.ts';
import { type AdminContext, defineOperation } from './admin-operation.ts';
import {
  count,
  flag,
  newTenantId,
  next,
  pageFields,
  readCursor,
  tenantId,
  tenantParams,
  writeCursor,
} from './fields.ts';
import { receiptFlag, signedReceipt } from './receipt-schema.ts';
import { metadataQuery, tenantSearch, tenantStatus } from './tenant-filter.ts';
import {
  detailsChange,
  newDetails,
  pickDetails,
  pickSettings,
  settingsChangeSchema,
  settingsRecord,
  tenantRecord,
  tenantSchema,
} from './tenant-record.ts';

const sort = z.enum(['id', 'files', 'bytes', 'used', 'changed']);

const position = z.strictObject({ sort, key: z.number(), id: z.string() });

/** Maximum number of tenants on a page. */
export const MAX_PAGE = 200;

const listQuery = z.strictObject({
  search: tenantSearch,
  status: tenantStatus.optional(),
  metadata: metadataQuery,
  near_limit: count(1, 1000)
    .optional()
    .meta({ description: 'Only tenants with at least this `used_percent`.' }),
  sort: sort.default('id').meta({
    description:
      '`id` is ascending; the others start with the largest (`used`: by `used_percent`) or the most recent change.',
  }),
  totals: flag.default(false).meta({ description: 'Whether to also count all matching tenants.' }),
  ...pageFields(MAX_PAGE, 50),
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
        .meta({ description: 'Replaces the ID, with the same value in all events.', example: FORGOTTEN }),
      events: counted.meta({
        description: "The number of events that contained the ID, including this request's event.",
      }),
    })
    .optional()
    .meta({ description: 'With `forget`.' }),
  receipt: signedReceipt.optional().meta({ description: 'With `receipt`.' }),
});

function erasedRows({ storedResults, ...rows }: Erased) {
  return { ...rows, stored_results: storedResults };
}

function throwNoSuchTenant(tenant: string): never {
  throw new ServiceError('no_such_tenant', tenant);
}

async function readRecord({ database, config }: { database: Database; config: Config }, id: string) {
  return tenantRecord(await findListedTenant(database, id), config);
}

const totalsSchema = z
  .object({ tenants: counted, files: counted, bytes: counted, history_bytes: counted })
  .meta({ id: 'TenantTotals', description: 'Counts for all matching tenants, on all pages.' });

export const listTenants = defineOperation({
  id: 'listTenants',
  method: 'GET',
  url: '/tenants',
  summary: 'List tenants, a page at a time',
  tag: 'tenants',
  scope: 'handler',
  query: listQuery,
  response: {
    description: 'A page.',
    schema: z.object({
      tenants: z.array(tenantSchema),
      next,
      totals: totalsSchema.nullable().meta({ description: 'Null without `totals=true`.' }),
    }),
  },
  async run({ database, config, query, administrator }) {
    const { near_limit: nearLimit, sort: order, limit, after } = query;
    const page = { limit, after: readCursor(position, after) };
    if (page.after !== null && page.after.sort !== order) throw new ServiceError('invalid_cursor');
    const { search, status } = query;
    const metadata = query.metadata && parsePairs(query.metadata);
    const filter = { search, status, metadata, nearLimit, scope: administrator.onlyTenants };
    const [listed, totals] = await Promise.all([
      readTenantPage(database, config, { ...filter, order }, page),
      query.totals ? countTenants(database, config, filter) : null,
    ]);
    return {
      tenants: listed.rows.map((row) => tenantRecord(row, config)),
      next: writeCursor(listed.next && { sort: order, ...listed.next }),
      totals: totals && {
        tenants: totals.tenants,
        files: totals.files,
        bytes: totals.bytes,
        history_bytes: totals.historyBytes,
      },
    };
  },
});

export const createTenant = defineOperation({
  id: 'createTenant',
  method: 'POST',
  url: '/tenants',
  summary: 'Create a tenant',
  tag: 'tenants',
  body: newTenant,
  status: 201,
  response: { description: 'The new tenant.', schema: tenantSchema },
  errors: [new ServiceError('tenant_exists', 'acme')],
  auditedTenant: ({ id }) => id,
  async run({ database, config, administrator, body, note }) {
    const { id, settings } = body;
    const details = pickDetails(body);
    note({ details: { ...settings, ...details } });
    await new Tenants(database).createWith(id, pickSettings(settings), details, administrator.actor);
    return readRecord({ database, config }, id);
  },
  location: ({ id }) => `/tenants/${encodeURIComponent(id)}`,
});

export const getTenant = defineOperation({
  id: 'getTenant',
  method: 'GET',
  url: '/tenants/:tenant',
  summary: 'Get a tenant with its settings',
  tag: 'tenants',
  params: tenantParams,
  response: { description: 'The tenant.', schema: tenantSchema },
  errors: [noSuchTenant],
  run: ({ database, config, params: { tenant } }) => readRecord({ database, config }, tenant),
});

export const updateTenant = defineOperation({
  id: 'updateTenant',
  method: 'PATCH',
  url: '/tenants/:tenant',
  summary: "Change a tenant's settings, name, description and metadata",
  description: 'It takes effect within `AUTH_CACHE_SECONDS`.',
  tag: 'tenants',
  params: tenantParams,
  body: tenantChange,
  response: { description: 'The tenant.', schema: tenantSchema },
  errors: [noSuchTenant, archived, new ServiceError('too_much_metadata', MAX_METADATA)],
  async run({ database, config, administrator: { actor }, params: { tenant }, body, note }) {
    const { settings = {} } = body;
    const details = pickDetails(body);
    const before = await requireTenant(database, tenant);
    const tenants = new Tenants(database);
    const quotas = tenantDefaults(config);
    if (!(await tenants.change(tenant, pickSettings(settings), details, quotas, actor)))
      throwNoSuchTenant(tenant);
    note({
      details: { ...changedValues(settingsRecord(before), settings), ...changedValues(before, details) },
    });
    return readRecord({ database, config }, tenant);
  },
});

/** A tenant's data, for its deletion receipt. */
const DATA = ['files', 'history', 'drafts', 'stored results', 'keys', 'settings', 'usage', 'kept-out texts'];

function deletionReceipt(
  { config, database, administrator }: Pick<AdminContext, 'config' | 'database' | 'administrator'>,
  counts: Erased,
  subject: Pick<Erasure, 'tenant' | 'proof'>,
) {
  return addReceipt(database, config, {
    ...subject,
    kind: 'tenant_deleted',
    by: administrator.actor,
    searched: DATA,
    subject: {},
    erased: erasedRows(counts),
  });
}

export const deleteTenant = defineOperation({
  id: 'deleteTenant',
  method: 'DELETE',
  url: '/tenants/:tenant',
  summary: 'Delete a tenant with its files, history, keys and settings',
  description: 'This cannot be undone. If it is interrupted, the tenant stays suspended: delete it again.',
  tag: 'tenants',
  access: 'read_write',
  params: tenantParams,
  query: z.strictObject({
    force: flag
      .default(false)
      .meta({ description: 'Delete it even if other tenants mount it. Their mounts stay.' }),
    forget: flag.default(false).meta({
      description:
        "Also replace the tenant's ID with a hash in the audit trail, even if the tenant was already deleted.",
    }),
    receipt: receiptFlag,
  }),
  response: { description: 'Number of deleted rows.', schema: erasedSchema },
  errors: [noSuchTenant, new ServiceError('tenant_is_mounted', 'team', ['acme', 'globex'], false)],
  async run(call) {
    const { database, params, query, administrator, note } = call;
    const { tenant } = params;
    const { force, forget, receipt: isSigned } = query;
    const tenants = new Tenants(database);
    const exists = (await tenants.find(tenant)) !== undefined;
    if (exists && !force) await rejectMounted(database, tenant, administrator.onlyTenants);
    const erased = exists ? await tenants.delete(tenant, administrator.actor) : undefined;
    if (erased !== undefined) note({ details: { ...erased } });
    if (!forget) {
      const counts = erased ?? throwNoSuchTenant(tenant);
      const receipt = isSigned ? await deletionReceipt(call, counts, { tenant }) : undefined;
      return { id: tenant, erased: erasedRows(counts), receipt };
    }
    const { salt, ...forgotten } = await forgetTenant(database, tenant);
    note({ tenant: forgotten.hash, details: { forgotten_events: forgotten.events } });
    // This request's event also contains the ID and is counted, so more than one event means that the tenant existed.
    if (erased === undefined && forgotten.events <= 1) throwNoSuchTenant(tenant);
    const counts = erased ?? NOTHING_ERASED;
    const proof = { tenant, salt };
    const receipt = isSigned
      ? await deletionReceipt(call, counts, { tenant: forgotten.hash, proof })
      : undefined;
    return { id: tenant, erased: erasedRows(counts), forgotten, receipt };
  },
});

function defineSuspension(
  id: string,
  summary: string,
  { suspended, name }: { suspended: boolean; name: 'suspend' | 'resume' },
) {
  return defineOperation({
    id,
    method: 'POST',
    url: `/tenants/:tenant/${name}`,
    summary,
    description: 'It takes effect within `AUTH_CACHE_SECONDS`.',
    tag: 'tenants',
    params: tenantParams,
    response: { description: 'The tenant.', schema: tenantSchema },
    errors: [noSuchTenant],
    async run({ database, config, administrator, tenant: { id: tenant, suspendedAt }, note }) {
      const { actor } = administrator;
      if (!(await new Tenants(database).suspend(tenant, suspended, actor))) throwNoSuchTenant(tenant);
      note({ details: { suspended: { old: suspendedAt !== null, new: suspended } } });
      return readRecord({ database, config }, tenant);
    },
  });
}

export const suspendTenant = defineSuspension('suspendTenant', 'Reject all requests for a tenant', {
  suspended: true,
  name: 'suspend',
});

export const resumeTenant = defineSuspension('resumeTenant', 'Accept requests for a suspended tenant again', {
  suspended: false,
  name: 'resume',
});

export const archiveTenant = defineOperation({
  id: 'archiveTenant',
  method: 'POST',
  url: '/tenants/:tenant/archive',
  summary: 'Archive a tenant permanently',
  description:
    "Its files, and its drafts' files, can then only be read and deleted. An archived tenant is " +
    'not changed. No operation ends the archive.',
  tag: 'tenants',
  access: 'read_write',
  params: tenantParams,
  response: { description: 'The tenant.', schema: tenantSchema },
  errors: [noSuchTenant],
  async run({ database, config, tenant: { id: tenant, archivedAt }, note }) {
    await new Stores(database).archive(tenant);
    note({ details: { archived: { old: archivedAt !== null, new: true } } });
    return readRecord({ database, config }, tenant);
  },
});

/** Maximum number of mounting tenants in the response to a rename. */
const MAX_LISTED = 1000;

const renamedSchema = tenantSchema
  .extend({
    mounted_by: z
      .array(tenantId)
      .meta({ description: `The tenants that mount it: the first ${MAX_LISTED}, sorted.` }),
  })
  .meta({ id: 'RenamedTenant' });

const body = z.strictObject({ to: newTenantId.meta({ description: "The new tenant's ID." }) });

const copyErrors = [noSuchTenant, new ServiceError('tenant_exists', 'globex')];

export const copyTenant = defineOperation({
  id: 'copyTenant',
  method: 'POST',
  url: '/tenants/:tenant/copy',
  summary: "Copy a tenant's files and settings in a consistent snapshot, without keys and history",
  description: 'In one transaction. Writes to the tenant wait until it is done.',
  tag: 'tenants',
  access: 'read_write',
  scope: 'fleet',
  params: tenantParams,
  body,
  response: { description: 'The new tenant.', schema: tenantSchema },
  errors: copyErrors,
  async run({ database, config, params: { tenant }, body: { to }, origin, note }) {
    note({ details: { to } });
    await copyTenantData(database, tenant, to, origin, tenantDefaults(config));
    return readRecord({ database, config }, to);
  },
});

export const renameTenant = defineOperation({
  id: 'renameTenant',
  method: 'POST',
  url: '/tenants/:tenant/rename',
  summary: 'Rename a tenant, with its files, history, settings, keys and stored results',
  description:
    'In one transaction. Writes to the tenant wait until the transaction is done. Mounts of the ' +
    'tenant show it under its new ID. Keys work for the new ID immediately; clients that send ' +
    'the ID must send the new ID.',
  tag: 'tenants',
  access: 'read_write',
  scope: 'fleet',
  params: tenantParams,
  body,
  response: { description: 'The tenant with its new id.', schema: renamedSchema },
  errors: copyErrors,
  async run({ database, config, administrator, params: { tenant }, body: { to }, note }) {
    note({ details: { to } });
    const { mountedBy } = await moveTenantData(database, tenant, to, administrator.actor);
    const renamed = await readRecord({ database, config }, to);
    return { ...renamed, mounted_by: mountedBy.slice(0, MAX_LISTED) };
  },
});
