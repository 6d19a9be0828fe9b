import { z } from 'zod';
import { defineOperation } from '../../../core/admin/admin-operation.ts';
import {
  flag,
  next,
  pageFields,
  readCursor,
  tenantId,
  text,
  time,
  timePosition,
  writeCursor,
} from '../../../core/admin/fields.ts';
import { soughtPart } from '../../../core/database/contains-text.ts';
import { cutPage } from '../../../core/lib/pages.ts';
import { cancelJob, countOutcomes, findJob, readJobPage, readOutcomePage } from '../jobs.ts';
import {
  counts,
  isExact,
  jobId,
  jobKind,
  jobParams,
  jobRecord,
  jobSchema,
  noSuchJob,
} from './job-schemas.ts';

const NOT_ALL =
  "A key limited to certain tenants sees a job only if the job is limited to tenants in the key's scope.";

export const listJobs = defineOperation({
  id: 'listJobs',
  method: 'GET',
  url: '/jobs',
  summary: 'List jobs over tenants, newest first, a page at a time',
  description: `${NOT_ALL} Jobs are deleted 30 days after their end.`,
  tag: 'incidents',
  scope: 'handler',
  query: z.strictObject({
    kind: jobKind.optional(),
    active: flag
      .optional()
      .meta({ description: 'True: only jobs that have not ended. False: only jobs that have ended.' }),
    incident: jobId.optional().meta({ description: "Only the jobs after an incident's first job." }),
    ...pageFields(100, 50),
  }),
  response: { description: 'A page.', schema: z.object({ jobs: z.array(jobSchema), next }) },
  async run({ database, query: { kind, active, incident, limit, after }, administrator }) {
    const filter = {
      kind: kind ?? null,
      isActive: active ?? null,
      incident: incident ?? null,
      scope: administrator.onlyTenants,
    };
    const page = await readJobPage(database, filter, readCursor(timePosition, after), limit);
    return { jobs: page.rows.map(jobRecord), next: writeCursor(page.next) };
  },
});

export const getJob = defineOperation({
  id: 'getJob',
  method: 'GET',
  url: '/jobs/:job',
  summary: 'Get a job with its progress',
  description: NOT_ALL,
  tag: 'incidents',
  scope: 'handler',
  params: jobParams,
  response: { description: 'The job.', schema: jobSchema },
  errors: [noSuchJob],
  async run({ database, params: { job }, administrator }) {
    return jobRecord(await findJob(database, job, administrator.onlyTenants));
  },
});

export const cancelJobOperation = defineOperation({
  id: 'cancelJob',
  method: 'POST',
  url: '/jobs/:job/cancel',
  summary: 'Cancel a job',
  description: `In tenants that the job has already processed, changes are not undone, and the outcomes stay listed. A job that has ended is returned unchanged. ${NOT_ALL}`,
  tag: 'incidents',
  access: 'operate',
  scope: 'handler',
  params: jobParams,
  response: { description: 'The job.', schema: jobSchema },
  errors: [noSuchJob],
  async run({ database, params: { job }, administrator, note }) {
    note({ details: { job } });
    return jobRecord(await cancelJob(database, job, administrator.onlyTenants, administrator.actor));
  },
});

const outcomeSchema = z
  .object({
    tenant: tenantId,
    at: time,
    error: z.string().nullable().meta({ description: 'The error code; null for a success.' }),
    counts,
    is_exact: isExact,
  })
  .meta({ id: 'JobOutcome' });

export const listJobTenants = defineOperation({
  id: 'listJobTenants',
  method: 'GET',
  url: '/jobs/:job/tenants',
  summary: "List a job's outcomes by tenant, sorted by tenant, a page at a time",
  description: `Tenants without a result are omitted. ${NOT_ALL}`,
  tag: 'incidents',
  scope: 'handler',
  params: jobParams,
  query: z.strictObject({
    search: text(128).optional().meta({ description: 'Part of the tenant ID, case-insensitive.' }),
    left: flag.optional().meta({
      description:
        'True: only tenants that failed, have conflicts, or whose counts are a lower bound. False: only other tenants.',
    }),
    ...pageFields(200, 50),
  }),
  response: {
    description: 'A page.',
    schema: z.object({
      tenants: z.array(outcomeSchema),
      total: z.int().min(0).meta({ description: 'The number of matching tenants, on all pages.' }),
      next,
    }),
  },
  errors: [noSuchJob],
  async run({ database, params: { job }, query, administrator }) {
    const { limit, after, left = null } = query;
    // On Citus, the outcomes for a job over certain tenants then come only from these tenants' nodes.
    const { onlyTenants: scope } = await findJob(database, job, administrator.onlyTenants);
    const from = readCursor(tenantId, after) ?? '';
    const filter = { search: soughtPart(query.search), isLeft: left };
    const selection = { job, after: from, scope, limit: limit + 1 };
    const outcomes = await readOutcomePage(database, selection, filter);
    const page = cutPage(outcomes, limit, (last) => last.tenant);
    const total = await countOutcomes(database, { job, scope, ...filter });
    return {
      tenants: page.rows.map(({ isComplete, ...outcome }) => ({ ...outcome, is_exact: isComplete })),
      total,
      next: writeCursor(page.next),
    };
  },
});
