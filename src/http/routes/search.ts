import type { FastifyInstance, FastifyRequest } from 'fastify';
import { type SearchServices, searchCall } from '../../mounts/search.ts';
import { SEARCH_TOOL } from '../../search/input.ts';
import type { MemorySearch } from '../../search/search.ts';
import type { SearchResult } from '../../search/tool.ts';
import { contextOf } from '../authentication.ts';
import { inFlightOf } from '../capacity.ts';
import type { Metrics } from '../metrics.ts';
import { inCurrentTenant } from '../proposals.ts';
import { resultBytes } from '../result-bounds.ts';
import { notAnObject, searchRouteSchema } from './search-schema.ts';
import { isObject } from './tool-call.ts';
import { measured, sendJson, sendText, wantsText } from './tool-run.ts';

declare module 'fastify' {
  interface FastifyInstance {
    /** That of the process. */
    memorySearch: MemorySearch;
  }
}

export interface SearchOptions extends SearchServices {
  metrics: Metrics;
}

/** `POST /search`: searches the memory of the request's tenant. */
export async function searchRoute(
  app: FastifyInstance,
  options: SearchOptions & { timeoutMs: number },
): Promise<void> {
  app.post('/search', { schema: searchRouteSchema }, async (request, reply) => {
    const inFlight = inFlightOf(request);
    // The matches repeat what the text shows.
    await inFlight.takeSlot(resultBytes(2, contextOf(request).policy.limits));
    const { body: input } = request;
    if (!isObject(input)) throw notAnObject();
    const work = () => searchMemory(request, { input }, options);
    const result = await inFlight.workWithin(options.timeoutMs, work);
    if (wantsText(request)) return sendText(reply, result);
    const { content, isError, matches } = result;
    return sendJson(reply, { content, is_error: isError, matches });
  });
}

/** Runs one call of `memory_search` for the request's tenant. */
export function searchMemory(
  request: FastifyRequest,
  { input, toolUseId }: { input: unknown; toolUseId?: string | undefined },
  options: SearchOptions,
): Promise<SearchResult> {
  const inFlight = inFlightOf(request);
  const { ip } = request;
  const call = { tool: SEARCH_TOOL, command: SEARCH_TOOL, access: 'read', toolUseId } as const;
  // Searches take turns: those that wait would take the slots of all other requests.
  const work = () =>
    inFlight.workWithoutSlot(() =>
      inCurrentTenant(request, (context) =>
        searchCall(input, { ...context, ip, gone: inFlight.gone }, options),
      ),
    );
  return measured(request, options.metrics, call, work);
}
