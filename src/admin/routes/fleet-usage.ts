import { z } from 'zod';
import { fleetDays, fleetTotals, mostActive } from '../../usage/fleet.ts';
import { adminRoutes } from '../context.ts';
import { count, tenantId } from '../fields.ts';
import { errorResponses, json } from '../responses.ts';
import { day, daysFields, readDays, usesFields } from '../usage-days.ts';

const MOST_ACTIVE = 10;
const NEAR_LIMIT_PERCENT = 90;

const counted = z.int().min(0);
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

const daySchema = z
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

/** `GET /v1/usage`: all tenants together. */
export const fleetUsageRoutes = adminRoutes((app, { config, database }) => {
  app.get(
    '/usage',
    {
      schema: {
        operationId: 'getFleetUsage',
        summary: 'Get the usage of all tenants: now, by day, and the most active tenants of these days',
        description:
          'Days with neither requests nor recorded sizes are omitted. Requests of deleted tenants are not counted.',
        tags: ['tenants'],
        querystring: z.strictObject({
          ...daysFields,
          near_limit: count(1, 1000).default(NEAR_LIMIT_PERCENT).meta({ description: 'A percentage.' }),
        }),
        response: {
          200: json(
            'The usage.',
            z.object({ total: totalsSchema, days: z.array(daySchema), most_active: z.array(activeSchema) }),
          ),
          ...errorResponses('reads'),
        },
      },
    },
    async ({ query: { near_limit: nearLimit, ...given } }) => {
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
  );
});
