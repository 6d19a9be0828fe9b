import { z } from 'zod';
import { incomplete, noSuchTenant } from '../../core/admin/admin-errors.ts';
import { defineOperation } from '../../core/admin/admin-operation.ts';
import {
  count,
  givenTime,
  pathOrRoot,
  readTimes,
  tenantId,
  tenantParams,
  text,
} from '../../core/admin/fields.ts';
import { ServiceError } from '../../core/errors/errors.ts';
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

/** Time for a search in all tenants. */
const FLEET_DEADLINE_MS = 2000;

export const searchAllTenants = defineOperation({
  id: 'searchAllTenants',
  method: 'GET',
  url: '/search',
  summary: "Search all tenants' current files for a few matches",
  description:
    'The latest changed tenants come first, each with up to 3 files. The search ends after 2 seconds. A find (`POST /v1/find`) searches every tenant, with the history.',
  tag: 'memory',
  scope: 'handler',
  query: z.strictObject({
    query: text(MAX_QUERY_LENGTH).min(1),
    mode: z.enum(modes).default(DEFAULT_MODE),
    limit: count(1, 20).default(10),
  }),
  response: {
    description: 'The first matches.',
    schema: z.object({
      matches: z.array(
        z.object({
          tenant: tenantId,
          path: z.string(),
          line: z.int().nullable().meta({ description: 'Null if only the path matches.' }),
          text: z.string().nullable(),
        }),
      ),
      searched: z.int().min(0).meta({ description: 'The number of tenants that were searched.' }),
      is_complete: z.boolean().meta({ description: 'Whether all tenants were searched.' }),
    }),
  },
  errors: [new ServiceError('invalid_search', 'it is not a regular expression in RE2 syntax')],
  isHeavy: true,
  async run({ database, config, services, query, administrator: { onlyTenants: scope }, signal }) {
    const [{ searchTenants }, { memorySearch }] = await Promise.all([
      import('./fleet-search.ts'),
      import('./search.ts'),
    ]);
    const search = (await services()).featureService(memorySearch);
    const limits = { scope, signal, deadline: AbortSignal.timeout(FLEET_DEADLINE_MS) };
    const { isComplete, ...found } = await searchTenants(
      search,
      { database, config },
      { ...query, ...limits },
    );
    return { ...found, is_complete: isComplete };
  },
});
