import { z } from 'zod';
import { defineOperation } from '../../../core/admin/admin-operation.ts';
import {
  actor,
  actorFields,
  givenTime,
  NOT_BY_BOTH,
  next,
  pageFields,
  readCursor,
  readTimes,
  tenantId,
  text,
  time,
  writeCursor,
} from '../../../core/admin/fields.ts';
import { ServiceError } from '../../../core/errors/errors.ts';
import { byActorOrSource } from '../../../core/history/version.ts';
import { describeModes, modes } from '../../search/modes.ts';
import { memorySearch } from '../../search/search.ts';
import { MAX_QUERY_LENGTH } from '../../search/search-query.ts';
import { PLACES } from '../find.ts';
import { checkExpression, FIND, findQuery, readHits, type ShownHit } from '../find-job.ts';
import { listFoundActors, MAX_ACTORS } from '../found-actors.ts';
import { findJob } from '../jobs.ts';
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

const findBody = z
  .strictObject({
    text: text(MAX_QUERY_LENGTH)
      .min(1)
      .meta({
        description:
          'The words, text, or regular expression to find. The service deletes them when the job ends.',
        examples: ['ignore all previous instructions'],
      }),
    mode: z
      .enum(modes)
      .default('literal')
      .meta({ description: describeModes('find') }),
    exact: z
      .boolean()
      .default(false)
      .meta({
        description:
          'Only with `literal`: compare the text byte for byte. Otherwise, its normal form is compared, ' +
          'without differences in case, white space, invisible characters, and Unicode forms, as for a ' +
          'text that is kept out.',
      }),
    ignore_case: z.boolean().default(false).meta({
      description:
        'Only with `literal`: ignore case in an `exact` comparison. Without `exact`, case is always ignored. An expression begins with `(?i)` instead.',
    }),
    in: z.enum(['path', 'content', 'both']).default('both'),
    places: z
      .array(z.enum(PLACES))
      .min(1)
      .default([...PLACES])
      .meta({ description: 'Current files, superseded versions, and open drafts.' }),
    ...actorFields,
    since: givenTime.optional(),
    until: givenTime.optional(),
    tenants: selectionBody,
    incident,
  })
  .refine(...NOT_BY_BOTH)
  .refine(({ mode, ignore_case: ignoresCase }) => mode === 'literal' || !ignoresCase, {
    error: 'allows `ignore_case` only with the mode `literal`.',
  })
  .refine(({ mode, exact }) => mode === 'literal' || !exact, {
    error: 'allows `exact` only with the mode `literal`.',
  });

export const startFind = defineOperation({
  id: 'startFind',
  method: 'POST',
  url: '/find',
  summary: "Find a text in many tenants' files, history, drafts, and paths",
  description:
    'Creates a job, which a replica runs in the background. `GET /v1/jobs/{job}` shows the progress, `GET /v1/jobs/{job}/tenants` the results by tenant, and `GET /v1/jobs/{job}/tenants/{tenant}/hits` the places. A key limited to certain tenants finds in these tenants.',
  tag: 'incidents',
  access: 'operate',
  scope: 'handler',
  body: findBody,
  status: 201,
  response: { description: 'The job.', schema: jobSchema },
  errors: [
    noSuchJob,
    jobNotEnded,
    tooManyJobs,
    new ServiceError('invalid_search', 'it is not a regular expression in RE2 syntax'),
  ],
  async run(context) {
    const { database, services, body, signal } = context;
    const { text: wanted, mode, exact: isExact, ignore_case: ignoresCase } = body;
    const { in: where, places, by, source } = body;
    const times = await readTimes(database, { since: body.since, until: body.until });
    const request = {
      mode,
      where,
      isExact,
      ignoresCase,
      places,
      by: byActorOrSource({ by, source }) ?? null,
      since: times.since ?? null,
      until: times.until ?? null,
    };
    const query = findQuery(request, { text: wanted });
    await checkExpression((await services()).featureService(memorySearch), query, signal);
    const selection = toTenantSelection(body.tenants, context.administrator.onlyTenants);
    return startJob(context, {
      kind: FIND,
      request,
      texts: { text: wanted },
      incident: body.incident,
      ...selection,
    });
  },
  location: ({ id }) => `/jobs/${id}`,
});

const hitSchema = z
  .object({
    draft: z.string().nullable().meta({ description: "The draft's ID; null for the memory itself." }),
    memory_id: z.guid(),
    version_id: z.guid(),
    place: z.enum(['current', 'superseded']).meta({ description: 'The state when the version was found.' }),
    in: z.enum(['content', 'path']),
    path: z.string().nullable().meta({ description: 'Null if the version was redacted or deleted since.' }),
    operation: z.enum(['created', 'modified', 'renamed', 'deleted']).nullable(),
    line: z.int().nullable().meta({ description: 'From 1: the first matching line; null for a path.' }),
    lines: z.int().min(0).meta({ description: 'The number of matching lines.' }),
    excerpt: z.string().nullable().meta({ description: 'The line; if it is long, only a part.' }),
    actor: actor.nullable(),
    at: time.nullable(),
    redacted: z.boolean(),
  })
  .meta({ id: 'Hit' });

function hitRecord({
  from: _,
  memoryId,
  versionId,
  isRedacted,
  ...hit
}: ShownHit): z.input<typeof hitSchema> {
  return {
    ...hit,
    memory_id: memoryId,
    version_id: versionId,
    redacted: isRedacted,
    actor: hit.actor as z.input<typeof actor> | null,
  };
}

export const listHits = defineOperation({
  id: 'listHits',
  method: 'GET',
  url: '/jobs/:job/tenants/:tenant/hits',
  summary: "List a find's hits in a tenant, a page at a time",
  description:
    'The texts are read at the time of this request, so a redacted version has none. At most 1000 hits per ' +
    'tenant and 100,000 per job are stored, but the counts include all hits.',
  tag: 'incidents',
  params: z.strictObject({ job: jobId, tenant: tenantId }),
  query: z.strictObject(pageFields(100, 50)),
  response: {
    description: 'A page.',
    schema: z.object({ hits: z.array(hitSchema), stored: z.int().min(0), next }),
  },
  errors: [noSuchJob, new ServiceError('no_such_outcome', '0e3b6c1e-52f5-4f0a-9d5b-0c8f6a1d9b52', 'acme')],
  async run({ database, params: { job, tenant }, query: { limit, after }, administrator }) {
    await findJob(database, job, administrator.onlyTenants);
    const from = readCursor(z.int().min(0), after) ?? 0;
    const { hits, stored } = await readHits(database, job, tenant, { after: from, limit });
    const end = from + hits.length;
    return { hits: hits.map(hitRecord), stored, next: writeCursor(end < stored ? end : null) };
  },
});

const foundActorSchema = z
  .object({
    actor,
    hits: z.int().min(0).meta({ description: 'The number of versions by the actor with the text.' }),
    files: z
      .int()
      .min(0)
      .meta({
        description:
          'The number of files whose oldest version with the text is by the actor, so that the actor probably ' +
          'wrote the text into them.',
      }),
    tenants: z.int().min(1).meta({ description: 'The number of tenants with hits by the actor.' }),
    since: time.meta({ description: "The time of the actor's oldest version with the text." }),
  })
  .meta({ id: 'FoundActor' });

export const listJobActors = defineOperation({
  id: 'listJobActors',
  method: 'GET',
  url: '/jobs/:job/actors',
  summary: "List the actors who wrote a find's hits",
  description: `At most ${MAX_ACTORS} actors, sorted by \`files\`. Empty for jobs other than finds and dry runs of erasures.`,
  tag: 'incidents',
  scope: 'handler',
  params: jobParams,
  response: { description: 'The actors.', schema: z.object({ actors: z.array(foundActorSchema) }) },
  errors: [noSuchJob],
  async run({ database, params: { job }, administrator }) {
    const { onlyTenants: scope } = await findJob(database, job, administrator.onlyTenants);
    const actors = await listFoundActors(database, job, scope);
    return { actors: actors as z.input<typeof foundActorSchema>[] };
  },
});
