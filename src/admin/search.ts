import { z } from 'zod';
import { foundSchema } from '../agents/search.ts';
import { searchForOperator } from '../files/search/operator-search.ts';
import { DEFAULT_RESULTS, MAX_QUERY_LENGTH, MAX_RESULTS, modes } from '../files/search/query.ts';
import { departureOf } from '../http/access-log.ts';
import { adminRoutes } from './context.ts';
import { count, givenTime, pathOrRoot, readTimes, tenantParams, text } from './fields.ts';
import { incomplete } from './files.ts';
import { tenantOf } from './required-tenant.ts';
import { errorResponses, json, noSuchTenant } from './responses.ts';

const more = z.int().min(0).meta({
  description: 'How many more files match, or how many more matches there are with `literal` and `regex`.',
});

/** Search in the files of a tenant. */
export const searchRoutes = adminRoutes((app, { database, services }) => {
  app.get(
    '/tenants/:tenant/search',
    {
      schema: {
        operationId: 'searchFiles',
        summary: 'Search the paths and contents of files, now or at a past time',
        description:
          'Works like the tool `memory_search` (docs/contract.md, section 6): for words, the best files come first.',
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
    async (request, reply) => {
      const { in: where, limit, at: given, ...query } = request.query;
      const tenant = tenantOf(request);
      const gone = departureOf(request, reply);
      const { at } = given === undefined ? { at: undefined } : await readTimes(database, { at: given });
      const input = { ...query, max_results: limit };
      const searched = { tenant, input, where, at, gone };
      const { matches, more: left } = await searchForOperator(services.search, database, searched);
      return { matches, more: left };
    },
  );
});
