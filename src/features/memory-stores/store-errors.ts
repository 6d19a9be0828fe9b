import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { ServiceError } from '../../core/errors/errors.ts';
import type { PathConflict } from '../../core/files/write-functions.ts';
import { commonHeaders } from '../../core/http/access-log.ts';
import { noteFault, toServiceError } from '../../core/http/problem-details.ts';
import { toPublicId, toPublicPath } from '../../core/tenants/store-ids.ts';

export const STORES_PREFIX = '/v1/memory_stores';

const JSON_TYPE = 'application/json; charset=utf-8';

export type ErrorType =
  | 'invalid_request_error'
  | 'authentication_error'
  | 'permission_error'
  | 'not_found_error'
  | 'request_too_large'
  | 'rate_limit_error'
  | 'timeout_error'
  | 'api_error'
  | 'overloaded_error'
  | 'conflict_error'
  | 'memory_precondition_failed_error'
  | 'memory_path_conflict_error';

/** A Memory Stores API error without an equivalent in the other APIs. */
export class StoreError extends Error {
  override name = 'StoreError';
  readonly status: number;
  readonly type: ErrorType;
  readonly details: object;

  constructor(status: number, type: ErrorType, message: string, details: object = {}) {
    super(message);
    this.status = status;
    this.type = type;
    this.details = details;
  }
}

export const invalid = (message: string) => new StoreError(400, 'invalid_request_error', message);

export const notFound = (what: 'memory store' | 'memory' | 'memory version') =>
  new StoreError(404, 'not_found_error', `There is no such ${what}.`);

export const preconditionFailed = () =>
  new StoreError(
    409,
    'memory_precondition_failed_error',
    'The content of the memory is not as expected. Retrieve the memory and try again.',
  );

export const pathConflict = ({ path, memoryId }: Omit<PathConflict, 'kind'>) =>
  new StoreError(
    409,
    'memory_path_conflict_error',
    'The path conflicts with another memory, at, above or below it. Rename or delete that memory first.',
    { conflicting_path: toPublicPath(path), conflicting_memory_id: toPublicId('mem', memoryId) },
  );

export const stillCurrent = () =>
  new StoreError(
    409,
    'conflict_error',
    'The version has the same content as a current memory. Update or delete that memory first.',
  );

const TYPES: Partial<Record<number, ErrorType>> = {
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  408: 'timeout_error',
  409: 'conflict_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  500: 'api_error',
};

/** Converts a service error, with a new message where the original uses another API's terms. */
export function ownError({ reason, status, message }: ServiceError): StoreError {
  switch (reason) {
    case 'no_such_tenant':
    case 'unknown_tenant':
      return notFound('memory store');
    case 'route_not_found':
      return new StoreError(404, 'not_found_error', 'There is no such route. GET /docs describes this API.');
    case 'tenant_archived':
      return invalid('The memory store is archived: nothing in it can be created or changed.');
    case 'tenant_suspended':
      return new StoreError(403, 'permission_error', 'The memory store is suspended.');
    case 'json_too_complex':
      return invalid('The body has too many fields, or nests too deeply.');
    case 'tenant_is_mounted':
      return new StoreError(409, 'conflict_error', 'Other memory stores mount this one.');
    case 'timeout':
      return new StoreError(
        503,
        'overloaded_error',
        'The request took too long. A write may still have been applied.',
      );
    case 'overloaded':
    case 'database_busy':
      return new StoreError(status, 'overloaded_error', message);
    default:
      return new StoreError(
        status,
        TYPES[status] ?? (status >= 500 ? 'api_error' : 'invalid_request_error'),
        message,
      );
  }
}

/** Whether the URL belongs to the Memory Stores API, including unknown routes below its prefix. */
export function isForStores({ url }: { url: string }): boolean {
  return /^\/v1\/memory_stores(?:[/?]|$)/.test(url);
}

export function sendStoreError(
  error: FastifyError | StoreError,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const fault = error instanceof StoreError ? undefined : toServiceError(error, request);
  const shown = fault === undefined ? (error as StoreError) : ownError(fault);
  request.logEntry ??= {};
  request.logEntry.outcome = fault?.code ?? shown.type;
  if (fault !== undefined) noteFault(fault, request);
  if (shown.status === 401) reply.header('WWW-Authenticate', 'Bearer');
  if (fault?.retryAfter !== undefined) reply.header('Retry-After', String(fault.retryAfter));
  // The SDKs retry a 409 by default, and a retry would conflict again.
  if (shown.status === 409) reply.header('X-Should-Retry', 'false');
  return reply
    .headers({ ...commonHeaders(request.id), 'Request-Id': request.id })
    .code(shown.status)
    .type(JSON_TYPE)
    .send(JSON.stringify(errorBody(shown, request.id)));
}

/** Creates the response to an error that Fastify does not handle. */
export function rawStoreError(error: ServiceError, id: string) {
  const headers = { 'Content-Type': JSON_TYPE, 'Request-Id': id };
  return { headers, body: JSON.stringify(errorBody(ownError(error), id)) };
}

export function errorBody({ type, message, details }: StoreError, requestId: string) {
  return { type: 'error', error: { type, message, ...details }, request_id: requestId };
}

export const errorSchema = z
  .object({
    type: z.literal('error'),
    error: z.object({
      type: z
        .string()
        .meta({ description: "The error's kind, for programs.", examples: ['not_found_error'] }),
      message: z.string().meta({ description: 'A message for people: the fault and its remedy.' }),
      conflicting_path: z.string().optional().meta({
        description:
          'With `memory_path_conflict_error`: the path of the memory that occupies the requested path.',
      }),
      conflicting_memory_id: z.string().optional().meta({
        description:
          'With `memory_path_conflict_error`: the ID of the memory that occupies the requested path.',
      }),
    }),
    request_id: z.string().meta({ description: 'Names the request in the log.' }),
  })
  .meta({ id: 'MemoryStoreError' });

export function errorResponses(errors: readonly (StoreError | ServiceError)[]): Record<number, object> {
  const shown = errors.map((error) => (error instanceof StoreError ? error : ownError(error)));
  return Object.fromEntries(
    [...new Set(shown.map(({ status }) => status))].sort().map((status) => {
      const ofStatus = shown.filter((error) => error.status === status);
      const description = [...new Set(ofStatus.map(({ type, message }) => `- \`${type}\`: ${message}`))];
      return [
        status,
        { description: description.join('\n'), content: { 'application/json': { schema: errorSchema } } },
      ];
    }),
  );
}
