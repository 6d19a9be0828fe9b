import type { FastifyInstance, FastifyRequest, FastifySchema } from 'fastify';
import { validate } from '../../core/admin/validation.ts';
import { tenantErrors, tenantHeaders } from '../../core/agents/execute-schema.ts';
import { inTenant } from '../../core/agents/redirect.ts';
import { fileJsonBytes } from '../../core/agents/result-bounds.ts';
import { observe, sendJson } from '../../core/agents/tool.ts';
import { ServiceError } from '../../core/errors/errors.ts';
import type { Services } from '../../core/files/services.ts';
import { prefers } from '../../core/http/accept.ts';
import { requireContext } from '../../core/http/authentication.ts';
import { requireInFlight } from '../../core/http/capacity.ts';
import { streamEvents } from '../../core/http/event-stream.ts';
import { agentErrors, problemResponses } from '../../core/http/problem-responses.ts';
import { encodeCursor } from '../../core/lib/cursor.ts';
import { MAX_JSON_BYTES_OF_UNIT } from '../../core/lib/json.ts';
import { EVENT_STREAM } from '../../core/lib/server-sent-events.ts';
import { changesExpired, invalidChangeCursor } from './change-errors.ts';
import { eventStreamSchema, pageSchema } from './change-event.ts';
import { changeFeed } from './change-feed.ts';
import { changeParameters, readOptions, streamHeaders } from './change-parameters.ts';
import { Changes, parseStart } from './changes.ts';
import { MAX_CONTENT_BYTES, type ReadOptions, readEvents } from './read-events.ts';

/** Estimated size of an event without its content, in JSON. */
const EVENT_BYTES = 2048;

const schema: FastifySchema = {
  operationId: 'getChanges',
  summary: 'List the changes to the memory, oldest first, from a position on',
  description:
    "Each change is there at least once, in the order in which the changes were made. Read on from the page's `cursor`, at any time and after any break, for as long as the history is kept. Mounted memories are not part of it. With `Accept: text/event-stream`, the response is a stream that goes on with each change.",
  tags: ['memory'],
  headers: tenantHeaders.extend(streamHeaders.shape),
  querystring: changeParameters,
  response: {
    200: {
      description: 'A page, or a stream of events.',
      content: {
        'application/json': { schema: pageSchema },
        [EVENT_STREAM]: { schema: eventStreamSchema },
      },
    },
    ...problemResponses([
      ...tenantErrors,
      ...agentErrors,
      invalidChangeCursor,
      changesExpired,
      new ServiceError('too_many_streams'),
      new ServiceError('streams_full'),
      new ServiceError('invalid_parameter', 'The query parameter limit must be at most 1000.'),
    ]),
  },
};

/** Serves `GET /v1/changes`: the changes to the caller's memory, as a page or as a stream. */
export async function changesRoute(app: FastifyInstance, services: Services): Promise<void> {
  app.get('/v1/changes', { config: { hasNoBody: true }, schema }, async (request, reply) => {
    const { after, ...query } = validate(changeParameters, 'querystring', request.query);
    const isStream = prefers(request.headers.accept, EVENT_STREAM, 'application/json');
    const start = parseStart((isStream ? lastEventId(request) : undefined) ?? after);
    const { rights } = requireContext(request).principal;
    const options = { ...readOptions(query), rights };
    const begin = (tenant: string) => new Changes(services.database).begin(tenant, start);
    if (isStream) {
      const { tenant, cursor } = await requireInFlight(request).work(0, () =>
        inOwnMemory(request, async (tenant) => ({ tenant, cursor: await begin(tenant) })),
      );
      const feed = services.featureService(changeFeed);
      return streamEvents(request, reply, feed.follow(tenant, cursor, options));
    }
    const { events, cursor, hasMore } = await requireInFlight(request).work(bytesFor(request, options), () =>
      inOwnMemory(request, async (tenant) =>
        readEvents(services.database, tenant, await begin(tenant), options),
      ),
    );
    return sendJson(reply, { events, cursor: encodeCursor(cursor), has_more: hasMore });
  });
}

/** Runs work for the caller's memory; for a propose-only key, the memory to which the key proposes. */
function inOwnMemory<Result extends object>(
  request: FastifyRequest,
  work: (tenant: string) => Promise<Result>,
): Promise<Result> {
  const details = { tool: 'changes', command: 'changes', access: 'read', toolUseId: undefined } as const;
  return observe(request, { ...details, callerTrace: undefined }, () =>
    inTenant(request, 'read', async ({ principal: { tenant, draftOf } }) => ({
      ...(await work(draftOf ?? tenant)),
      isError: false,
    })),
  );
}

function lastEventId({ headers }: FastifyRequest): string | undefined {
  const id = headers['last-event-id'];
  return typeof id === 'string' && id !== '' ? id : undefined;
}

function bytesFor(request: FastifyRequest, { limit, content }: ReadOptions): number {
  const { limits } = requireContext(request).policy;
  const contents = Math.max(MAX_JSON_BYTES_OF_UNIT * MAX_CONTENT_BYTES, fileJsonBytes(limits));
  return limit * EVENT_BYTES + (content ? contents : 0);
}
