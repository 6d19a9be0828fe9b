import { z } from 'zod';
import { ServiceError } from '../../errors.ts';
import { activity } from '../../history/activity.ts';
import { foundSchema } from '../../http/routes/search-schema.ts';
import { searchForOperator } from '../../search/operator-search.ts';
import { DEFAULT_RESULTS, MAX_QUERY_LENGTH, MAX_RESULTS, modes } from '../../search/query.ts';
import { adminRoutes } from '../context.ts';
import { actor, count, givenTime, pathOrRoot, tenantParams, text, time } from '../fields.ts';
import { incomplete } from '../file-schemas.ts';
import { errorResponses, json, noSuchTenant } from '../responses.ts';
import { readTimes } from '../time-parameters.ts';

const more = z.int().min(0).meta({
  description: 'How many more files match, or how many more matches there are with `literal` and `regex`.',
});

const counted = z.int().min(0);
const activitySchema = z
  .object({
    since: time,
    until: time,
    bucket_seconds: z.number(),
    actors: z.array(actor).meta({ description: 'At most 20, the busiest first.' }),
    buckets: z.array(
      z.object({
        start: time,
        counts: z.array(counted).meta({ description: 'Changes by each of the actors.' }),
        others: counted.meta({ description: 'Changes by all other actors.' }),
      }),
    ),
  })
  .meta({ id: 'Activity' });

const DEFAULT_SINCE = '30d';

/** Search in the files of a tenant, and how its changes are spread over time. */
export const searchRoutes = adminRoutes((app, { database, search }) => {
  app.get(
    '/tenants/:tenant/search',
    {
      schema: {
        operationId: 'searchFiles',
        summary: 'Search the paths and contents of the files, of now or of a time',
        description:
          'As the tool `memory_search` does (docs/contract.md, section 6): by words, the best files come first.',
        tags: ['memory'],
        params: tenantParams,
        querystring: z.strictObject({
          query: text(MAX_QUERY_LENGTH).min(1),
          mode: z.enum(modes).default('words'),
          in: z.enum(['path', 'content', 'both']).default('both'),
          path: pathOrRoot,
          at: givenTime.optional().meta({ description: 'Default: now.' }),
          limit: count(1, MAX_RESULTS).default(DEFAULT_RESULTS),
        }),
        response: {
          200: json('The matches.', z.object({ matches: z.array(foundSchema), more })),
          ...errorResponses('reads', [noSuchTenant, incomplete]),
        },
      },
    },
    async ({ params: { tenant }, query: { in: where, limit, at: given, ...query } }) => {
      const { at } = given === undefined ? { at: undefined } : await readTimes(database, { at: given });
      const input = { ...query, max_results: limit };
      const { matches, more: left } = await searchForOperator(search, database, { tenant, input, where, at });
      return { matches, more: left };
    },
  );

  app.get(
    '/tenants/:tenant/activity',
    {
      schema: {
        operationId: 'countChanges',
        summary: 'Count the changes over time, by actor',
        tags: ['history'],
        params: tenantParams,
        querystring: z.strictObject({
          since: givenTime.default(DEFAULT_SINCE),
          until: givenTime.optional().meta({ description: 'Default: now.' }),
          buckets: count(1, 500).default(60),
        }),
        response: {
          200: json('The counts.', activitySchema),
          ...errorResponses('reads', [noSuchTenant]),
        },
      },
    },
    async ({ params: { tenant }, query: { buckets, ...query } }) => {
      const times = await readTimes(database, { since: query.since, until: query.until });
      const { since = times.now, until = times.now } = times;
      if (since >= until) throw new ServiceError('since_after_until');
      const { actors, buckets: parts } = await activity(database, tenant, { since, until }, buckets);
      const seconds = (Date.parse(until) - Date.parse(since)) / 1000 / buckets;
      return { since, until, bucket_seconds: seconds, actors, buckets: parts };
    },
  );
});
