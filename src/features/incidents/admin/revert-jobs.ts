import { z } from 'zod';
import { defineOperation } from '../../../core/admin/admin-operation.ts';
import {
  actorFields,
  givenTime,
  NOT_BY_BOTH,
  next,
  pageFields,
  readCursor,
  readTimes,
  tenantId,
  writeCursor,
} from '../../../core/admin/fields.ts';
import { conflictReason, HAS_SELECTION, takeAll } from '../../../core/admin/reverts.ts';
import { ServiceError } from '../../../core/errors/errors.ts';
import { byActorOrSource } from '../../../core/history/version.ts';
import { findJob } from '../jobs.ts';
import { findDryRun, REVERT, readConflicts, type StoredRevertRequest } from '../revert-job.ts';
import {
  incident,
  jobId,
  jobNotEnded,
  jobParams,
  jobSchema,
  noSuchJob,
  selectionBody,
  startJob,
  tooManyJobs,
  toTenantSelection,
} from './job-schemas.ts';

const response = { description: 'The job.', schema: jobSchema };

export const startRevert = defineOperation({
  id: 'startRevert',
  method: 'POST',
  url: '/revert',
  summary: 'Try to undo the changes by an actor, by a source, or in a period, in many tenants',
  description:
    'Creates a job that does a dry run in each tenant. `GET /v1/jobs/{job}/tenants` lists the tenants in which the revert would change files, or has conflicts. `POST /v1/jobs/{job}/apply` then makes exactly these changes. Open drafts are not reverted.',
  tag: 'incidents',
  access: 'operate',
  scope: 'handler',
  body: z
    .strictObject({
      ...actorFields,
      since: givenTime,
      until: givenTime.optional().meta({
        description: 'Required without `by` and `source`: undoes the changes by all actors in the period.',
      }),
      take_all: takeAll,
      tenants: selectionBody,
      incident,
    })
    .refine(...NOT_BY_BOTH)
    .refine(...HAS_SELECTION),
  status: 201,
  response,
  errors: [noSuchJob, jobNotEnded, tooManyJobs],
  async run(context) {
    const { database, body } = context;
    const { by, source, take_all, tenants } = body;
    const { since, until } = await readTimes(database, { since: body.since, until: body.until });
    const request: StoredRevertRequest = {
      by: byActorOrSource({ by, source }) ?? null,
      since,
      until: until ?? null,
      takeAll: take_all ?? null,
      isDryRun: true,
      dryRunOf: null,
    };
    const selection = toTenantSelection(tenants, context.administrator.onlyTenants);
    return startJob(context, { kind: REVERT, request, texts: {}, incident: body.incident, ...selection });
  },
  location: ({ id }) => `/jobs/${id}`,
});

const notADryRun = new ServiceError('not_a_dry_run', '0e3b6c1e-52f5-4f0a-9d5b-0c8f6a1d9b52');

export const applyRevert = defineOperation({
  id: 'applyRevert',
  method: 'POST',
  url: '/jobs/:job/apply',
  summary: 'Make the changes from a dry run in many tenants',
  description:
    'Creates a job that reverts each tenant exactly as in the dry run, or not at all: a tenant ' +
    'whose plan would differ by now fails with `precondition_failed`. Conflicts without a ' +
    'resolution are left unchanged. Applying the same dry run again continues with the tenants ' +
    'that are not reverted.',
  tag: 'incidents',
  access: 'operate',
  scope: 'handler',
  params: jobParams.extend({ job: jobId.meta({ description: 'The dry run.' }) }),
  status: 201,
  response,
  errors: [noSuchJob, notADryRun, jobNotEnded, tooManyJobs],
  async run(context) {
    const {
      database,
      administrator,
      params: { job: id },
    } = context;
    const { request, selection, onlyTenants } = await findDryRun(database, id, administrator.onlyTenants);
    // A dry run without an incident begins one.
    const { incident: first = id, ...stored } = request as StoredRevertRequest & { incident?: string };
    const applied: StoredRevertRequest = { ...stored, isDryRun: false, dryRunOf: id };
    const job = { kind: REVERT, request: applied, texts: {}, selection, onlyTenants, incident: first };
    return startJob(context, job, { dry_run: id });
  },
  location: ({ id }) => `/jobs/${id}`,
});

export const listConflicts = defineOperation({
  id: 'listConflicts',
  method: 'GET',
  url: '/jobs/:job/tenants/:tenant/conflicts',
  summary: 'List the files that a revert left unchanged in a tenant, a page at a time',
  description:
    'The response has the current paths, not the paths when the job ran. Only the first 1000 conflicts per ' +
    'tenant are stored, but the counts include all conflicts.',
  tag: 'incidents',
  params: z.strictObject({ job: jobId, tenant: tenantId }),
  query: z.strictObject(pageFields(200, 50)),
  response: {
    description: 'A page.',
    schema: z.object({
      conflicts: z.array(
        z.object({
          path: z.string().nullable().meta({ description: 'Null for a directory, and if it was redacted.' }),
          memory_id: z.guid().nullable().meta({ description: 'Null for a directory.' }),
          reason: conflictReason,
        }),
      ),
      stored: z.int().min(0),
      next,
    }),
  },
  errors: [noSuchJob, new ServiceError('no_such_outcome', '0e3b6c1e-52f5-4f0a-9d5b-0c8f6a1d9b52', 'acme')],
  async run({ database, params: { job, tenant }, query: { limit, after }, administrator }) {
    await findJob(database, job, administrator.onlyTenants);
    const from = readCursor(z.int().min(0), after) ?? 0;
    const { conflicts, stored } = await readConflicts(database, job, tenant, { after: from, limit });
    const end = from + conflicts.length;
    return {
      conflicts: conflicts.map(({ memoryId, ...conflict }) => ({ ...conflict, memory_id: memoryId })),
      stored,
      next: writeCursor(end < stored ? end : null),
    };
  },
});
