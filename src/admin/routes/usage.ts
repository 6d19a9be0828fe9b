import { z } from 'zod';
import { Tenants } from '../../tenants/tenants.ts';
import { tenantUsage } from '../../tenants/usage.ts';
import { usageDays } from '../../usage/days.ts';
import { adminRoutes } from '../context.ts';
import { tenantId, tenantParams, time } from '../fields.ts';
import { tenantOf } from '../required-tenant.ts';
import { errorResponses, json, noSuchTenant } from '../responses.ts';
import { instant } from '../tenant-record.ts';
import { day, daysFields, readDays, usesFields } from '../usage-days.ts';

const counted = z.int().min(0);
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
        'When the memory last changed, a file was last read (accurate to the day), or a key of the tenant was last used, whichever is latest.',
    }),
  })
  .meta({ id: 'Usage' });

/** What a tenant uses of its limits, and what it used on each day. */
export const usageRoutes = adminRoutes((app, { config, database }) => {
  const tenants = new Tenants(database);

  app.get(
    '/tenants/:tenant/usage',
    {
      schema: {
        operationId: 'getUsage',
        summary: 'Get the usage and limits of a tenant',
        tags: ['tenants'],
        params: tenantParams,
        response: { 200: json('The usage.', usageSchema), ...errorResponses('reads', [noSuchTenant]) },
      },
    },
    async (request) => {
      const tenant = tenantOf(request);
      const { files, bytes, historyBytes, ...usage } = await tenantUsage(tenants, config, tenant);
      return {
        id: tenant.id,
        files,
        bytes,
        history_bytes: historyBytes,
        history_versions: usage.historyVersions,
        stored_results: usage.storedResults,
        last_activity_at: instant(usage.lastActivityAt),
      };
    },
  );

  app.get(
    '/tenants/:tenant/usage/days',
    {
      schema: {
        operationId: 'listUsageDays',
        summary: 'List what a tenant used on each day, oldest first',
        description:
          'Days with neither requests nor a change of sizes are omitted: their sizes are those of the day before. Requests are recorded once a minute.',
        tags: ['tenants'],
        params: tenantParams,
        querystring: z.strictObject(daysFields),
        response: {
          200: json('The days.', z.object({ days: z.array(daySchema) })),
          ...errorResponses('reads', [noSuchTenant]),
        },
      },
    },
    async (request) => {
      const days = await readDays(database, request.query);
      const rows = await usageDays(database, tenantOf(request).id, days);
      return { days: rows.map(({ historyBytes, ...day }) => ({ ...day, history_bytes: historyBytes })) };
    },
  );
});
