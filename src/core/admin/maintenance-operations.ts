import { z } from 'zod';
import { ServiceError } from '../errors/errors.ts';
import { expireFiles as expire } from '../files/expiry.ts';
import { pruneHistory as prune } from '../history/pruning.ts';
import { tenantDefaults } from '../tenants/effective-settings.ts';
import { noSuchTenant } from './admin-errors.ts';
import { type AdminCall, defineOperation } from './admin-operation.ts';
import { tenantId, tenantParams } from './fields.ts';

const counted = z.int().min(0);
/** Maximum number of tenants that an expiration's result lists. */
const MAX_LISTED = 1000;

export const expireFiles = defineOperation({
  id: 'expireFiles',
  method: 'POST',
  url: '/files/expire',
  summary: "Delete the files that were unused for their tenants' TTL",
  description: 'Runs the hourly job now. The operation completes even if you close the connection.',
  tag: 'memory',
  access: 'operate',
  body: z.strictObject({
    dry_run: z.boolean().default(false).meta({ description: 'Count the files, without deleting them.' }),
  }),
  response: {
    description: 'The deleted files, or with `dry_run` the files to delete.',
    schema: z.object({
      tenants: counted.meta({ description: 'Tenants with such files.' }),
      files: counted,
      bytes: counted,
      by_tenant: z
        .array(z.object({ tenant: tenantId, files: counted, bytes: counted }))
        .meta({ description: `The first ${MAX_LISTED} of these tenants, by ID.` }),
    }),
  },
  errors: [new ServiceError('job_is_running', 'expiration')],
  isHeavy: true,
  async run({ database, config, body: { dry_run: dryRun }, note, onProgress }) {
    const listed: { tenant: string; files: number; bytes: number }[] = [];
    let tenants = 0;
    const expired = await expire(database, {
      defaultTtlDays: config.MEMORY_TTL_DAYS,
      ...tenantDefaults(config),
      dryRun,
      onTenant(tenant, { files, bytes }) {
        onProgress?.({ step: 'read', items: ++tenants });
        if (listed.length < MAX_LISTED) listed.push({ tenant, files, bytes });
      },
    });
    if (expired === undefined) throw new ServiceError('job_is_running', 'expiration');
    note({ details: { ...expired } });
    return { ...expired, by_tenant: listed };
  },
});

const prunedSchema = z.object({
  versions: counted,
  bytes: counted.meta({ description: 'Bytes that the versions took in the history.' }),
});
const pruned = { description: 'The deleted versions.', schema: prunedSchema };

const DESCRIPTION =
  'Runs the hourly job now: deletes superseded versions that are older than `history_days`, or exceed `max_history_bytes`. The operation completes even if you close the connection.';

export const pruneHistory = defineOperation({
  id: 'pruneHistory',
  method: 'POST',
  url: '/history/prune',
  summary: 'Delete the versions that tenants no longer keep',
  description: DESCRIPTION,
  tag: 'history',
  access: 'operate',
  response: pruned,
  errors: [new ServiceError('job_is_running', 'history')],
  isHeavy: true,
  run: (call) => pruneTenants(call),
});

export const pruneTenantHistory = defineOperation({
  id: 'pruneTenantHistory',
  method: 'POST',
  url: '/tenants/:tenant/history/prune',
  summary: 'Delete the versions that a tenant no longer keeps',
  description: DESCRIPTION,
  tag: 'history',
  params: tenantParams,
  response: pruned,
  errors: [noSuchTenant, new ServiceError('job_is_running', 'history')],
  isHeavy: true,
  run: ({ params: { tenant }, ...call }) => pruneTenants(call, tenant),
});

async function pruneTenants(
  { database, config, note }: Pick<AdminCall, 'database' | 'config' | 'note'>,
  tenant?: string,
) {
  const deleted = await prune(database, { ...tenantDefaults(config), tenant });
  if (deleted === undefined) throw new ServiceError('job_is_running', 'history');
  note({ details: { ...deleted } });
  return deleted;
}
