import { z } from 'zod';
import { incomplete, noSuchTenant } from '../../core/admin/admin-errors.ts';
import { defineOperation } from '../../core/admin/admin-operation.ts';
import { count, givenTime, pathOrRoot, readTimes, tenantParams, text } from '../../core/admin/fields.ts';
import { foundSchema } from './input.ts';
import { DEFAULT_MODE, LINE_MODES, modes } from './modes.ts';
import { DEFAULT_RESULTS, MAX_QUERY_LENGTH, MAX_RESULTS } from './search-query.ts';

const more = z
  .int()
  .min(0)
  .meta({
    description: `The number of further files that match or, with ${LINE_MODES}, of further matches.`,
  });

export const searchFiles = defineOperation({
  id: 'searchFiles',
  method: 'GET',
  url: '/tenants/:tenant/search',
  summary: 'Search file paths and contents, now or at a past time',
  description:
    'Works like the tool `memory_search` (docs/contract.md, section 6): for words, the best files come first.',
  tag: 'memory',
  params: tenantParams,
  query: z.strictObject({
    query: text(MAX_QUERY_LENGTH).min(1),
    mode: z.enum(modes).default(DEFAULT_MODE),
    in: z.enum(['path', 'content', 'both']).default('both'),
    path: pathOrRoot,
    at: givenTime.optional().meta({ description: 'Default: now.' }),
    limit: count(1, MAX_RESULTS).default(DEFAULT_RESULTS),
  }),
  response: {
    description: 'The matches.',
    schema: z.object({
      matches: z.array(foundSchema),
      more,
      text: z.string().meta({ description: 'The result that an agent would read.' }),
    }),
  },
  errors: [noSuchTenant, incomplete],
  async run({ database, services, tenant, signal, query: { in: where, limit, at: given, ...query } }) {
    // The import is deferred because few commands search.
    const [{ searchForOperator }, { memorySearch }] = await Promise.all([
      import('./operator-search.ts'),
      import('./search.ts'),
    ]);
    const { at } = await readTimes(database, { at: given });
    const input = { ...query, max_results: limit };
    const searched = { tenant, input, where, at, gone: signal };
    const found = await searchForOperator(
      (await services()).featureService(memorySearch),
      database,
      searched,
    );
    return { matches: found.matches, more: found.more, text: found.content };
  },
});
