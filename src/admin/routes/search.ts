import { z } from 'zod';
import { ServiceError } from '../../errors.ts';
import { searchFiles } from '../../files/search.ts';
import { activity } from '../../history/activity.ts';
import { adminRoutes } from '../context.ts';
import { readCursor, writeCursor } from '../cursor.ts';
import { actor, count, givenTime, next, pageFields, tenantParams, text, time } from '../fields.ts';
import { errorResponses, json, noSuchTenant } from '../responses.ts';
import { readTimes } from '../time-parameters.ts';

const matchSchema = z
  .object({
    path: z.string(),
    size_bytes: z.int(),
    modified_at: time,
    in: z.enum(['path', 'content']),
    line: z
      .int()
      .nullable()
      .meta({ description: 'Of the first match in the content, from 1; null when only the path matches.' }),
    excerpt: z.string().nullable().meta({ description: 'A part of that line.' }),
  })
  .meta({ id: 'Match' });

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
export const searchRoutes = adminRoutes((app, { database }) => {
  app.get(
    '/tenants/:tenant/search',
    {
      schema: {
        operationId: 'searchFiles',
        summary: 'Search the paths and contents of the live files, a page at a time',
        description: 'In upper or lower case, in the order of the paths.',
        tags: ['memory'],
        params: tenantParams,
        querystring: z.strictObject({
          query: text(200).min(1),
          in: z.enum(['path', 'content', 'both']).default('both'),
          ...pageFields(100, 50),
        }),
        response: {
          200: json('A page.', z.object({ matches: z.array(matchSchema), next })),
          ...errorResponses('reads', [noSuchTenant]),
        },
      },
    },
    async ({ params: { tenant }, query: { query, in: where, limit, ...page } }) => {
      const after = readCursor(text(5000), page.after) ?? '';
      const found = await searchFiles(database, tenant, { text: query, where }, { after, limit: limit + 1 });
      const matches = found.slice(0, limit);
      return {
        matches: matches.map(({ path, bytes, modified, line, excerpt }) => ({
          ...{ path, size_bytes: bytes, modified_at: new Date(modified * 1000).toISOString() },
          ...{ in: line === null ? 'path' : 'content', line, excerpt },
        })),
        next: found.length > limit ? writeCursor(matches.at(-1)?.path ?? null) : null,
      };
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
          until: givenTime.optional().meta({ description: 'By default now.' }),
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
