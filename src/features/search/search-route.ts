import type { FastifyInstance, FastifyRequest, FastifySchema } from 'fastify';
import { z } from 'zod';
import { callErrors, resultFields, tenantHeaders, toolUseId } from '../../core/agents/execute-schema.ts';
import {
  asksForProvenance,
  invalidProvenance,
  provenanceHeader,
} from '../../core/agents/provenance-header.ts';
import { inTenant } from '../../core/agents/redirect.ts';
import { resultBytes } from '../../core/agents/result-bounds.ts';
import {
  type FeatureTool,
  observe,
  sendJson,
  sendText,
  type ValidCall,
  wantsText,
} from '../../core/agents/tool.ts';
import { ServiceError } from '../../core/errors/errors.ts';
import type { Services } from '../../core/files/services.ts';
import { requireContext } from '../../core/http/authentication.ts';
import { requireInFlight } from '../../core/http/capacity.ts';
import { problemResponses } from '../../core/http/problem-responses.ts';
import { isObject } from '../../core/lib/json.ts';
import { foundSchema, SEARCH_TOOL, searchSchema } from './input.ts';
import { searchCall } from './mounted.ts';
import type { SearchResult } from './search-tool.ts';

z.globalRegistry.add(searchSchema, { id: 'Search', description: 'An input for the `memory_search` tool.' });

const resultSchema = z
  .object({ ...resultFields, matches: z.array(foundSchema) })
  .meta({ id: 'SearchResult', description: 'The text for the model, and the same as data.' });

export const notAnObject = () =>
  new ServiceError('invalid_parameter', 'The body is not a JSON object. Send {"query": "what to look for"}.');

/**
 * Requests and responses for the documentation. The second example is valid after the `POST /execute` examples, up to
 * their deletion.
 */
const examples = {
  search: {
    summary: 'Search for words',
    request: { query: 'favorite colour of Ada' },
    response: {
      content: 'There are no files in /memories.',
      is_error: false,
      matches: [],
    },
  },
  failure: {
    summary: 'An error that the model can read and correct',
    request: { query: 'a[', mode: 'regex' },
    response: {
      content:
        'Error: Invalid `query` parameter: it is not a regular expression in RE2 syntax: missing closing ]: `[`',
      is_error: true,
      matches: [],
    },
  },
};

/** The `POST /search` schema, for the documentation only. The route validates the body itself. */
export const searchRouteSchema: FastifySchema = {
  operationId: 'search',
  summary: "Search a memory's files",
  description: [
    'Takes an input for the `memory_search` tool and returns the text for the model, and the ' +
      'same as data.',
    'Errors that the model can correct come back with status 200 and `is_error: true`. With `Accept: text/plain` the body is the text alone, and the header `X-Memory-Is-Error` carries the flag.',
  ].join('\n\n'),
  tags: ['memory'],
  headers: tenantHeaders.extend(provenanceHeader),
  body: searchSchema.meta({
    'x-examples': Object.fromEntries(
      Object.entries(examples).map(([name, { summary, request }]) => [name, { summary, value: request }]),
    ),
  }),
  response: {
    200: {
      description: 'The result.',
      content: {
        'application/json': {
          schema: resultSchema,
          examples: Object.fromEntries(
            Object.entries(examples).map(([name, { summary, response }]) => [
              name,
              { summary, value: response },
            ]),
          ),
        },
        'text/plain': { schema: z.string() },
      },
    },
    ...problemResponses([...callErrors, notAnObject(), invalidProvenance()]),
  },
};

const blockSchema = z
  .object({
    type: z.literal('tool_use'),
    id: toolUseId,
    name: z.literal(SEARCH_TOOL),
    input: searchSchema,
  })
  .meta({ id: 'SearchUse', description: 'A whole `tool_use` block for the `memory_search` tool.' });

/** Returns the tool `memory_search`. */
export function searchTool(services: Services): FeatureTool {
  return { name: SEARCH_TOOL, blockSchema, run: (request, call) => searchMemory(request, call, services) };
}

/** Serves `POST /search`, which searches the memory that belongs to the request's tenant. */
export async function searchRoute(app: FastifyInstance, services: Services): Promise<void> {
  app.post('/search', { schema: searchRouteSchema }, async (request, reply) => {
    // The response contains the results twice: as text and as matches.
    const bytes = resultBytes(2, requireContext(request).policy.limits);
    const result = await requireInFlight(request).work(bytes, async () => {
      const { body: input } = request;
      if (!isObject(input)) throw notAnObject();
      return searchMemory(request, { input }, services);
    });
    if (wantsText(request)) return sendText(reply, result);
    const { content, isError, matches } = result;
    return sendJson(reply, { content, is_error: isError, matches });
  });
}

/** Runs one `memory_search` call for the request's tenant. */
function searchMemory(
  request: FastifyRequest,
  { input, toolUseId, callerTrace }: { input: unknown } & Pick<ValidCall, 'toolUseId' | 'callerTrace'>,
  services: Services,
): Promise<SearchResult> {
  const inFlight = requireInFlight(request);
  const { ip, id: requestId } = request;
  // Searches have their own queue. If a waiting search kept its slot, it would block all other requests.
  const details = {
    tool: SEARCH_TOOL,
    command: SEARCH_TOOL,
    access: 'read',
    toolUseId,
    callerTrace,
  } as const;
  return observe(request, details, () =>
    inFlight.slot.runWithout(() =>
      inTenant(request, 'read', ({ principal, policy }) => {
        const gone = inFlight.closedSignal;
        const wantsProvenance = asksForProvenance(request, policy);
        const call = { principal, policy, ip, requestId, toolUseId, gone, wantsProvenance };
        return searchCall(input, call, services);
      }),
    ),
  );
}
