import type { IncomingMessage } from 'node:http';
import { PassThrough, Readable } from 'node:stream';
import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { ServiceError } from '../errors/errors.ts';
import type { LoadedState } from '../history/log.ts';
import { prefers } from '../http/accept.ts';
import { departureOf } from '../http/access-log.ts';
import { utf8Problem } from '../http/json-body.ts';
import { logFault, problemFor, problemOf } from '../http/problem-details.ts';
import { requireTenant } from '../tenants/tenants.ts';
import { finishAudit, noteAudit } from './audit.ts';
import { administratorOf, originOf } from './authentication.ts';
import { reserveResponse } from './concurrency-limit.ts';
import type { AdminContext } from './context.ts';
import {
  type AnyOperation,
  ARCHIVE,
  ERROR_HEADER,
  JSON_LINES,
  type OperationCall,
  type ResponseDescription,
} from './operation.ts';
import { errorResponses, json } from './responses.ts';

/** Operations of one tenant, which has to exist. */
const OF_TENANT = /^\/tenants\/:tenant\//;

/** Returns a plugin with the routes of operations. */
export function operationRoutes(operations: readonly AnyOperation[]): FastifyPluginAsync<AdminContext> {
  return async (app, context) => {
    for (const operation of operations) {
      if (operation.bodyType === undefined) operationRoute(app, context, operation);
      else {
        app.register(async (scope) => {
          scope.register(operation.bodyType === ARCHIVE ? archiveBody : textBody);
          operationRoute(scope, context, operation);
        });
      }
    }
  };
}

function operationRoute(app: FastifyInstance, context: AdminContext, operation: AnyOperation): void {
  const { id, method, url, summary, description, tag, access, scope, params, query, body, headers } =
    operation;
  const { bodyType, status = 200, response, otherResponses = {}, errors = [], isHeavy = false } = operation;
  app.route({
    method,
    url,
    // HEAD would make the whole archive.
    exposeHeadRoute: response.mediaType !== ARCHIVE,
    config: {
      ...(access && { access }),
      ...(scope && { scope }),
      ...(bodyType && { bodyType }),
      ...(operation.tenantOf && { tenantOf: operation.tenantOf }),
    },
    schema: {
      operationId: id,
      summary,
      ...(description && { description }),
      tags: [tag],
      ...(bodyType && { consumes: [bodyType] }),
      ...(params && { params }),
      ...(query && { querystring: query }),
      ...(body && { body }),
      ...(headers && { headers }),
      response: {
        ...successes({ [status]: response, ...otherResponses }),
        ...errorResponses(kindOf(operation), errors),
      },
    },
    handler: async (request, reply) => {
      const signal = departureOf(request, reply);
      const run = async (onProgress?: OnProgress) =>
        operation.run(await callOf(request, context, operation, signal, onProgress));
      if (response.lines && prefers(request.headers.accept, JSON_LINES, 'application/json'))
        return sendLines(request, reply, run);
      const respond = async () => {
        const output = await run();
        return { output, encoded: await operation.encode?.(output, request.headers) };
      };
      const { output, encoded } = await (isHeavy
        ? context.heavyWork.run(turnOf(request), signal, respond)
        : respond());
      if (status !== 200) reply.code(status);
      if (operation.location) reply.header('Location', `/v1${operation.location(output)}`);
      if (encoded === undefined) return output;
      if (encoded.status !== undefined) reply.code(encoded.status);
      reply.headers(encoded.headers ?? {});
      if (typeof encoded.body === 'string') {
        await reserveResponse(request, Buffer.byteLength(encoded.body));
        reply.type('text/plain; charset=utf-8');
      }
      return reply.send(encoded.body);
    },
  });
}

type OnProgress = NonNullable<OperationCall<unknown, unknown, unknown>['onProgress']>;

/** Responds with lines of JSON: the progress of `run`, then its result or its error. */
function sendLines(
  request: FastifyRequest,
  reply: FastifyReply,
  run: (onProgress: OnProgress) => Promise<object | null>,
): FastifyReply {
  const lines = new PassThrough();
  const write = (line: object) => void lines.write(`${JSON.stringify(line)}\n`);
  run((progress) => write({ type: 'progress', ...progress }))
    .then(
      (result) => write({ type: 'result', ...result }),
      (error) => write({ type: 'error', ...failed(error, request) }),
    )
    .finally(() => finishAudit(request, reply))
    .finally(() => lines.end());
  return reply.type(JSON_LINES).send(lines);
}

function failed(error: unknown, request: FastifyRequest): object {
  const problem = problemFor(error);
  request.logEntry.outcome = problem.code;
  if (problem.status >= 500) logFault(problem, request);
  return { problem: problemOf(problem, request.id), parts: errorParts(problem, request) };
}

/** Longer parts of an error are left out: the message has what matters. */
const MAX_ERROR_HEADER = 8192;

/** The reason and the values of an error, for a caller that asks for them with `ERROR_HEADER`. */
export function errorParts(
  { reason, values, status }: ServiceError,
  request: FastifyRequest,
): string | undefined {
  if (request.raw.headers[ERROR_HEADER] === undefined || status >= 500) return undefined;
  const parts = encodeURIComponent(JSON.stringify([reason, ...values]));
  return parts.length <= MAX_ERROR_HEADER ? parts : undefined;
}

function kindOf({ method, body, bodyType }: AnyOperation) {
  if (method === 'GET') return 'reads';
  if (body === undefined) return 'changes';
  if (bodyType === ARCHIVE) return 'takes an archive';
  return bodyType === undefined ? 'takes JSON' : 'takes text';
}

/** Statuses of responses without a body. */
const EMPTY = new Set(['204', '304']);

function successes(responses: Record<number, ResponseDescription>): Record<string, object> {
  return Object.fromEntries(
    Object.entries(responses).map(([status, { description, schema, mediaType, lines, headers }]) => {
      if (EMPTY.has(status)) return [status, schema.meta({ description })];
      const { content } =
        mediaType === undefined ? json(description, schema) : { content: { [mediaType]: { schema } } };
      const media = { ...content, ...(lines && { [JSON_LINES]: { schema: lines } }) };
      return [status, { description, ...(headers && { headers }), content: media }];
    }),
  );
}

/** Lets the routes of a scope take text, and nothing else: UTF-8, byte for byte. */
const textBody = fp(
  async (app) => {
    app.removeAllContentTypeParsers();
    app.addContentTypeParser('text/plain', { parseAs: 'buffer' }, (request, body, done) => {
      const problem = utf8Problem(request.headers, body as Buffer);
      if (problem !== undefined) done(problem);
      else done(null, body.toString('utf8'));
    });
  },
  { name: 'text-body' },
);

/** Lets the routes of a scope take an archive, and nothing else. `callOf` reads it. */
const archiveBody = fp(
  async (app) => {
    app.removeAllContentTypeParsers();
    app.addContentTypeParser(ARCHIVE, (_request, body, done) => done(null, body));
  },
  { name: 'archive-body' },
);

/**
 * Reads the body as it arrives. A reader that ends early leaves the connection open for the response.
 *
 * @throws ServiceError that ended the reading of the body, or 499 when its connection was lost
 */
async function* chunksOf(body: IncomingMessage): AsyncGenerator<Buffer> {
  let failure: unknown;
  body.once('error', (error) => {
    failure = error;
  });
  try {
    for await (const chunk of body.iterator({ destroyOnReturn: false })) yield chunk;
  } catch (error) {
    failure ??= error;
  }
  if (failure !== undefined)
    throw failure instanceof ServiceError ? failure : new ServiceError('client_gone');
}

async function callOf(
  request: FastifyRequest,
  { config, database, services, merges, patches, heavyWork }: AdminContext,
  { url, bodyType }: AnyOperation,
  signal: AbortSignal,
  onProgress: OnProgress | undefined,
) {
  const { tenant } = request.params as { tenant?: string };
  const isOfTenant = OF_TENANT.test(url) && tenant !== undefined;
  const row = request.tenantRow ?? (isOfTenant ? await requireTenant(database, tenant) : undefined);
  return {
    params: request.params,
    query: request.query,
    body: bodyType === ARCHIVE ? { archive: Readable.from(chunksOf(request.raw)) } : request.body,
    headers: request.headers,
    config,
    database,
    services: async () => services,
    inSlot: <T>(work: () => Promise<T>) => heavyWork.run(turnOf(request), signal, work),
    compare: (before: LoadedState, after: LoadedState) => patches.compare(before, after, signal),
    merges,
    administrator: administratorOf(request),
    origin: originOf(request),
    get tenant() {
      if (row === undefined) throw new Error(`The operation at ${url} is not one of a tenant.`);
      return row;
    },
    signal,
    onProgress,
    note: (subject: Parameters<typeof noteAudit>[1]) => noteAudit(request, subject),
  };
}

function turnOf(request: FastifyRequest): string {
  return (request.params as { tenant?: string }).tenant ?? '';
}
