import { z } from 'zod';
import type { AdminContext } from '../../../core/admin/admin-operation.ts';
import { actor, tenantId, time } from '../../../core/admin/fields.ts';
import { requireInScope } from '../../../core/admin/permissions.ts';
import { tenantSearch, tenantStatus } from '../../../core/admin/tenant-filter.ts';
import { ServiceError } from '../../../core/errors/errors.ts';
import { metadataKey, metadataPairs, metadataValue } from '../../../core/tenants/metadata.ts';
import {
  createJob,
  findJob,
  isExact as hasExactCounts,
  type Job,
  MAX_ACTIVE_JOBS,
  type NewJob,
} from '../jobs.ts';
import type { TenantSelection } from '../tenant-selection.ts';

const EXAMPLE_JOB = '0e3b6c1e-52f5-4f0a-9d5b-0c8f6a1d9b52';
const counted = z.int().min(0);

export const jobId = z
  .guid()
  .transform((id) => id.toLowerCase())
  .meta({ examples: [EXAMPLE_JOB] });

export const jobKind = z.enum(['find', 'revert', 'erase']);

export const jobParams = z.strictObject({ job: jobId });

export const noSuchJob = new ServiceError('no_such_job', EXAMPLE_JOB);
export const tooManyJobs = new ServiceError('too_many_jobs', 'all', MAX_ACTIVE_JOBS.all);
export const jobNotEnded = new ServiceError('job_not_ended', EXAMPLE_JOB);

/** Limit on the tenants that a selection names. */
export const MAX_NAMED = 1000;

export const selectionFields = {
  search: tenantSearch,
  status: tenantStatus.optional(),
  metadata: metadataPairs(metadataKey, metadataValue)
    .optional()
    .meta({ description: "Pairs that the tenant's metadata contains.", examples: [{ plan: 'pro' }] }),
  except: z.array(tenantId).min(1).max(MAX_NAMED).optional().meta({ description: 'Not these tenants.' }),
  found_by: jobId.optional().meta({
    description:
      "An ended job's ID: only tenants with an outcome in this job, such as the tenants with hits " +
      'in a find.',
  }),
};

/** The job that began an incident. The console lists all jobs in an incident together. */
export const incident = jobId.optional().meta({
  description:
    "The ID of the incident's first job, such as the find. `GET /v1/jobs?incident={job}` lists the incident's " +
    'other jobs.',
});

/** Tenants for a job. The default is all tenants that the key may see. */
export const selectionBody = z
  .strictObject({
    ids: z.array(tenantId).min(1).max(MAX_NAMED).optional().meta({ description: 'Only these tenants.' }),
    ...selectionFields,
  })
  .default({})
  .meta({ id: 'TenantSelection', description: 'All conditions must match. The default is all tenants.' });

/**
 * Returns the selection, and the tenants to which the caller's job is limited.
 *
 * @param scope tenants that the caller may see; null for all
 * @throws ServiceError 403 if the caller may not see one of the tenants
 */
export function toTenantSelection(
  { ids, found_by: foundBy, ...selection }: z.output<typeof selectionBody>,
  scope: string[] | null,
): { selection: TenantSelection; onlyTenants: string[] | null } {
  for (const id of ids ?? []) requireInScope(scope, id);
  return {
    selection: { ...selection, foundBy },
    onlyTenants: ids === undefined ? scope : [...new Set(ids)].sort(),
  };
}

export const counts = z.record(z.string(), counted).meta({
  description:
    'Sums by name. A find counts `files`, `lines`, and `hits`; contents in `current`, `superseded`, and `drafts`; `paths` and `directories`; and the `versions` that were read. A revert counts changed `files` and `directories`, `resolved` conflicts, `conflicts`, which it does not revert, open `drafts` that may still contain the changes, and changed files that contain a text that is `kept_out`. An erasure counts edited `files`, redacted `versions`, files and versions in `drafts`, renamed `paths`, and names of past `directories`. It also counts stored `results`, `titles` of drafts, the `hits`, the `searched` versions, and `settings`, which stay unchanged.',
  examples: [
    {
      files: 2,
      current: 1,
      superseded: 3,
      drafts: 0,
      paths: 0,
      directories: 0,
      lines: 4,
      hits: 4,
      versions: 90,
    },
  ],
});

export const isExact = z.boolean().meta({ description: 'False: the counts are a lower bound.' });

export const jobSchema = z
  .object({
    id: z.guid(),
    kind: jobKind,
    state: z.enum(['queued', 'running', 'done', 'cancelled']),
    request: z.record(z.string(), z.unknown()).meta({ description: 'The request without its texts.' }),
    selection: z.object({
      ...selectionFields,
      found_by: z.guid().optional(),
      found_by_state: z
        .enum(['done', 'inexact', 'cancelled'])
        .optional()
        .meta({
          description:
            'End state of the job in `found_by`. If it was cancelled, or its counts are a lower bound, ' +
            "it may have missed tenants, so this job's `is_exact` is false.",
        }),
    }),
    only_tenants: z
      .array(tenantId)
      .nullable()
      .meta({ description: 'The tenants to which the job is limited; null for no limit.' }),
    created_by: actor,
    created_at: time,
    ended_at: time.nullable(),
    tenants: counted.meta({ description: 'The number of selected tenants when the job was created.' }),
    tenants_done: counted,
    tenants_failed: counted.meta({ description: 'The number of these tenants that failed.' }),
    counts,
    progress: counts.nullable().meta({
      description: 'The counts so far for the tenants that are being processed; not in `counts` yet.',
    }),
    is_exact: isExact,
  })
  .meta({ id: 'Job' });

/**
 * Creates a job for an operation's caller, adds it to the audit trail, and returns its record.
 *
 * @param incident the incident's first job, if the job is part of an incident
 * @throws ServiceError if too many jobs are active, if the caller may not see the incident's first job, or as for
 *   `foundBySelection`
 */
export async function startJob(
  { database, administrator, note }: Pick<AdminContext, 'database' | 'administrator' | 'note'>,
  { selection, incident, ...job }: Omit<NewJob, 'createdBy' | 'isScoped'> & { incident?: string | undefined },
  details: Record<string, unknown> = {},
) {
  const { onlyTenants, actor: createdBy } = administrator;
  if (incident !== undefined) await findJob(database, incident, onlyTenants);
  const found = await foundBySelection(database, selection.foundBy, onlyTenants);
  const created = await createJob(database, {
    ...job,
    request: { ...job.request, ...(incident !== undefined && { incident }) },
    selection: { ...selection, ...found },
    createdBy,
    isScoped: onlyTenants !== null,
  });
  note({ details: { job: created.id, ...details, tenants: created.tenants } });
  return jobRecord(created);
}

/**
 * Returns the selection by an ended job.
 *
 * @throws ServiceError if the job has not ended, or if the caller may not see it
 */
export async function foundBySelection(
  database: AdminContext['database'],
  foundBy: string | undefined,
  scope: string[] | null,
): Promise<Pick<TenantSelection, 'foundBy' | 'foundByState'>> {
  if (foundBy === undefined) return {};
  const job = await findJob(database, foundBy, scope);
  if (job.endedAt === null) throw new ServiceError('job_not_ended', foundBy);
  const ended = job.state === 'cancelled' ? 'cancelled' : 'inexact';
  return { foundBy, foundByState: hasExactCounts(job) ? 'done' : ended };
}

export function jobRecord(job: Job): z.input<typeof jobSchema> {
  const { request, selection, ...rest } = job;
  const { foundBy, foundByState, ...selected } = selection;
  return {
    id: rest.id,
    kind: rest.kind as z.input<typeof jobKind>,
    state: rest.state,
    request: request as Record<string, unknown>,
    selection: {
      ...selected,
      ...(foundBy !== undefined && { found_by: foundBy, found_by_state: foundByState ?? 'done' }),
    },
    only_tenants: rest.onlyTenants,
    created_by: rest.createdBy as z.input<typeof actor>,
    created_at: rest.createdAt,
    ended_at: rest.endedAt,
    tenants: rest.tenants,
    tenants_done: rest.tenantsDone,
    tenants_failed: rest.tenantsFailed,
    counts: rest.counts,
    progress: rest.progress,
    is_exact: hasExactCounts(job),
  };
}
