import { z } from 'zod';
import type { Database } from '../database/database.ts';
import { fleetDays, fleetTotals, mostActive } from '../tenants/fleet-usage.ts';
import { Tenants } from '../tenants/tenants.ts';
import { type Days, tenantUsage, toDays, usageDays } from '../tenants/usage.ts';
import { noSuchTenant } from './admin-errors.ts';
import { defineOperation } from './admin-operation.ts';
import { count, givenTime, readTimes, tenantId, tenantParams, time } from './fields.ts';
import { instant } from './tenant-record.ts';

const counted = z.int().min(0);

const day = z.string().meta({ description: 'By UTC.', examples: ['2026-11-23'] });

const usesFields = {
  reads: counted.meta({ description: 'Calls that read or searched.' }),
  writes: counted.meta({ description: 'Calls that write, including those with invalid input.' }),
  rejected: counted.meta({
    description:
      'Requests that were rejected with 403, 409, or 429, and writes that were rejected because the memory is full, archived, or read-only.',
  }),
};

const daysFields = {
  since: givenTime.default('30d'),
  until: givenTime
    .optional()
    .meta({ description: 'Excludes days that begin at or after this time. Same format as `since`.' }),
};

/** @throws ServiceError if a text is not a time */
async function readDays(
  database: Database,
  given: { since: string; until?: string | undefined },
): Promise<Days> {
  const { since, until } = await readTimes(database, { since: given.since, until: given.until });
  return toDays({ since: since ?? given.since, until });
}

const used = z
  .object({ used: counted, limit: counted.nullable().meta({ description: 'Null: no limit.' }) })
  .meta({ id: 'Used' });
const daySchema = z
  .object({
    day,
    files: counted,
    bytes: counted,
    history_bytes: counted,
    ...usesFields,
  })
  .meta({
    id: 'UsageDay',
    description: 'The sizes are the last ones that were recorded on the day.',
  });
const usageSchema = z
  .object({
    id: tenantId,
    files: used,
    bytes: used,
    history_bytes: used,
    history_versions: counted,
    stored_results: counted,
    last_activity_at: time.nullable().meta({
      description:
        'When the memory last changed, a file was last read (accurate to the day), or a key for the ' +
        'tenant was last used, whichever is latest.',
    }),
  })
  .meta({ id: 'Usage' });

export const getUsage = defineOperation({
  id: 'getUsage',
  method: 'GET',
  url: '/tenants/:tenant/usage',
  summary: "Get a tenant's usage and limits",
  tag: 'tenants',
  params: tenantParams,
  response: { description: 'The usage.', schema: usageSchema },
  errors: [noSuchTenant],
  async run({ config, database, tenant }) {
    const usage = await tenantUsage(new Tenants(database), config, tenant);
    return {
      id: tenant.id,
      files: usage.files,
      bytes: usage.bytes,
      history_bytes: usage.historyBytes,
      history_versions: usage.historyVersions,
      stored_results: usage.storedResults,
      last_activity_at: instant(usage.lastActivityAt),
    };
  },
});

export const listUsageDays = defineOperation({
  id: 'listUsageDays',
  method: 'GET',
  url: '/tenants/:tenant/usage/days',
  summary: "List a tenant's usage by day, oldest first",
  description:
    'Days with neither requests nor size changes are omitted: their sizes equal the previous ' +
    "day's sizes. Requests are recorded once a minute.",
  tag: 'tenants',
  params: tenantParams,
  query: z.strictObject(daysFields),
  response: { description: 'The days.', schema: z.object({ days: z.array(daySchema) }) },
  errors: [noSuchTenant],
  async run({ database, tenant, query }) {
    const rows = await usageDays(database, tenant.id, await readDays(database, query));
    return { days: rows.map(({ historyBytes, ...row }) => ({ ...row, history_bytes: historyBytes })) };
  },
});

const MOST_ACTIVE = 10;
const NEAR_LIMIT_PERCENT = 90;

const tenants = { tenants: counted, suspended: counted };
const sizes = { files: counted, bytes: counted, history_bytes: counted };
const nullable = z.int().min(0).nullable();

const totalsSchema = z
  .object({
    ...tenants,
    near_limit: counted.meta({
      description: 'Tenants that use at least `near_limit` percent of their limit on files or bytes.',
    }),
    ...sizes,
    history_versions: counted,
  })
  .meta({ id: 'FleetTotals' });

const fleetDaySchema = z
  .object({
    day,
    tenants: nullable,
    suspended: nullable,
    files: nullable,
    bytes: nullable,
    history_bytes: nullable,
    active: counted.meta({ description: 'Tenants that sent a request.' }),
    ...usesFields,
  })
  .meta({ id: 'FleetDay', description: 'Sizes are recorded once an hour; null where they were not.' });

const activeSchema = z.object({ tenant: tenantId, ...usesFields }).meta({ id: 'ActiveTenant' });

export const getFleetUsage = defineOperation({
  id: 'getFleetUsage',
  method: 'GET',
  url: '/usage',
  summary: "Get all tenants' usage: now, by day, and the most active tenants in these days",
  description:
    'Days with neither requests nor recorded sizes are omitted. Requests for deleted tenants are ' +
    'not counted.',
  tag: 'tenants',
  query: z.strictObject({
    ...daysFields,
    near_limit: count(1, 1000).default(NEAR_LIMIT_PERCENT).meta({ description: 'A percentage.' }),
  }),
  response: {
    description: 'The usage.',
    schema: z.object({
      total: totalsSchema,
      days: z.array(fleetDaySchema),
      most_active: z.array(activeSchema),
    }),
  },
  async run({ config, database, query: { near_limit: nearLimit, ...given } }) {
    const days = await readDays(database, given);
    const [total, rows, active] = await Promise.all([
      fleetTotals(database, config, nearLimit),
      fleetDays(database, days),
      mostActive(database, days, MOST_ACTIVE),
    ]);
    const { historyBytes, historyVersions, nearLimit: near, ...rest } = total;
    return {
      total: {
        ...rest,
        near_limit: near,
        history_bytes: historyBytes,
        history_versions: historyVersions,
      },
      days: rows.map(({ historyBytes, ...row }) => ({ ...row, history_bytes: historyBytes })),
      most_active: active,
    };
  },
});
