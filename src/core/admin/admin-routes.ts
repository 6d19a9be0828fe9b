import type { IncomingMessage } from 'node:http';
import { PassThrough, Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Config } from '../config.ts';
import type { Database } from '../database/database.ts';
import { ServiceError } from '../errors/errors.ts';
import type { Services } from '../files/services.ts';
import type { MergeThreads } from '../history/line-merge.ts';
import type { PatchThreads } from '../history/patch.ts';
import { prefers } from '../http/accept.ts';
import { disconnectSignal } from '../http/access-log.ts';
import { streamEvents } from '../http/event-stream.ts';
import type { OperationApi } from '../http/operation-routes.ts';
import { logFault, problemFor, toProblem } from '../http/problem-details.ts';
import { ARCHIVE, JSON_LINES } from '../lib/operation.ts';
import { EVENT_STREAM, type SendEvents } from '../lib/server-sent-events.ts';
import type { TenantRow } from '../tenants/queries.ts';
import { requireTenant } from '../tenants/tenants.ts';
import { callerName, requestOrigin, requireAdministrator } from './admin-authentication.ts';
import {
  type AdminCall,
  type AdminContext,
  type AdminTypes,
  type AnyAdminOperation,
  ERROR_HEADER,
  needsTenant,
} from './admin-operation.ts';
import { errorResponses } from './admin-responses.ts';
import { finishAudit, noteAudit } from './audit-route.ts';
import { reserveResponse } from './concurrency-limit.ts';
import type { HeavyWork } from './heavy-work.ts';
import { hideOtherTenants } from './response-json.ts';

export interface AdminServices {
  config: Config;
  database: Database;
  services: Services;
  merges: MergeThreads;
  patches: PatchThreads;
  /** The listener's single limiter. Unlimited heavy work would take the database's CPU cores from agents. */
  heavyWork: HeavyWork;
}

/**
 * Returns the common behavior for all operations. Hooks check permissions and write the audit trail, according to the
 * route's configuration.
 */
export function adminApi(services: AdminServices): OperationApi<AdminTypes> {
  return {
    routeConfig: ({ access, scope, auditedTenant, encode }) => ({
      ...(encode && { encodesBytes: true }),
      ...(access && { access }),
      ...(scope && { scope }),
      ...(auditedTenant && { auditedTenant }),
    }),
    describeErrors: errorResponses,
    async respond(operation, request, reply) {
      const { status = 200, response, isHeavy = false } = operation;
      const { tenant: id } = request.params as { tenant?: string };
      const needsRow = needsTenant(operation) && id !== undefined;
      const tenant = needsRow ? await requireTenant(services.database, id) : undefined;
      const signal = disconnectSignal(request, reply);
      const call = (onProgress?: OnProgress) =>
        callFor(request, services, operation, { tenant, signal, onProgress });
      if (operation.stream && prefers(request.headers.accept, EVENT_STREAM, 'application/json'))
        return sendEvents(request, reply, await operation.stream(call()));
      const run = (onProgress?: OnProgress) => operation.run(call(onProgress));
      if (response.lines && prefers(request.headers.accept, JSON_LINES, 'application/json'))
        return sendLines(request, reply, run);
      const work = async () => {
        const output = await run();
        return { output, encoded: await operation.encode?.(output, request.headers) };
      };
      const { output, encoded } = await (isHeavy
        ? services.heavyWork.run(callerName(request), work, signal)
        : work());
      if (status !== 200) reply.code(status);
      if (operation.location) reply.header('Location', `/v1${operation.location(output)}`);
      if (encoded === undefined) return output;
      if (encoded.status !== undefined) reply.code(encoded.status);
      reply.headers(encoded.headers ?? {});
      if (typeof encoded.body === 'string') {
        await reserveResponse(request, Buffer.byteLength(encoded.body));
        reply.type('text/plain; charset=utf-8');
      }
      // A slow client may read an archive for hours after its key was revoked.
      if (encoded.body instanceof Readable)
        request.server.streams.watch(request, reply).addEventListener('abort', () => reply.raw.destroy());
      return reply.send(encoded.body);
    },
  };
}

type OnProgress = NonNullable<AdminContext['onProgress']>;

/** Sends server-sent events, without the IDs of tenants outside the admin key's scope. */
function sendEvents(request: FastifyRequest, reply: FastifyReply, work: SendEvents): Promise<FastifyReply> {
  return streamEvents(request, reply, ({ signal, send }) =>
    work({
      signal,
      send: async ({ data, ...event }) =>
        send({ ...event, ...(data !== undefined && { data: await hideOtherTenants(request, data) }) }),
    }),
  );
}

/** Sends JSON lines: the progress of `run`, and then, when the outcome is in the audit trail, its result or error. */
function sendLines(
  request: FastifyRequest,
  reply: FastifyReply,
  run: (onProgress: OnProgress) => Promise<object | null>,
): FastifyReply {
  const lines = new PassThrough();
  const write = (line: object) => void lines.write(`${JSON.stringify(line)}\n`);
  run((progress) => write({ type: 'progress', ...progress }))
    .then(
      (result) => ({ type: 'result', ...result }),
      (error) => ({ type: 'error', ...progressError(error, request) }),
    )
    .then(async (last) => {
      await finishAudit(request, reply);
      write(last);
    })
    .finally(() => lines.end());
  return reply.type(JSON_LINES).send(lines);
}

function progressError(error: unknown, request: FastifyRequest): object {
  const problem = problemFor(error);
  request.logEntry.outcome = problem.code;
  if (problem.status >= 500) logFault(problem, request);
  return { problem: toProblem(problem, request.id), parts: errorParts(problem, request) };
}

/** Maximum header length. A longer header is omitted, because the message contains the important parts. */
const MAX_ERROR_HEADER = 8192;

/** Returns an error's reason and values if the caller asked for them with `ERROR_HEADER`. */
export function errorParts(
  { reason, values, status }: ServiceError,
  request: FastifyRequest,
): string | undefined {
  if (request.raw.headers[ERROR_HEADER] === undefined || status >= 500) return undefined;
  const parts = encodeURIComponent(JSON.stringify([reason, ...values]));
  return parts.length <= MAX_ERROR_HEADER ? parts : undefined;
}

/**
 * Yields a body's chunks as they arrive. If the reader stops early, the connection remains open for the response.
 *
 * @throws ServiceError the error that ended the body, or 499 if the connection was lost
 */
async function* bodyChunks(body: IncomingMessage): AsyncGenerator<Buffer> {
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

function callFor(
  request: FastifyRequest,
  { config, database, services, merges, patches, heavyWork }: AdminServices,
  { url, bodyType }: AnyAdminOperation,
  {
    tenant,
    signal,
    onProgress,
  }: { tenant: TenantRow | undefined; signal: AbortSignal; onProgress: OnProgress | undefined },
): AdminCall {
  const caller = callerName(request);
  return {
    params: request.params,
    query: request.query,
    body: bodyType === ARCHIVE ? { archive: Readable.from(bodyChunks(request.raw)) } : request.body,
    headers: request.headers,
    config,
    database,
    services: async () => services,
    inSlot: (work) => heavyWork.run(caller, work, signal),
    compare: (before, after) => patches.compare(before, after, caller, signal),
    merges: merges.for(caller),
    administrator: requireAdministrator(request),
    origin: requestOrigin(request),
    get tenant() {
      if (tenant === undefined) throw new Error(`The operation at ${url} is not one of a tenant.`);
      return tenant;
    },
    signal,
    onProgress,
    note: (subject) => noteAudit(request, subject),
  };
}
