import { STATUS_CODES } from 'node:http';
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { ServiceError } from '../errors.ts';
import { commonHeaders } from './access-log.ts';

export const PROBLEM_JSON = 'application/problem+json';

/** An error as RFC 9457 has it, with a `code` for programs and the `request_id` that the log has too. */
export const problemSchema = z
  .object({
    type: z.literal('about:blank'),
    title: z.string().meta({ description: "The status code's own name.", examples: ['Bad Request'] }),
    status: z.int().meta({ description: 'The HTTP status code.', examples: [400] }),
    code: z.string().meta({ description: 'What went wrong, for programs.', examples: ['invalid_json'] }),
    detail: z.string().meta({ description: 'What was wrong and what to do, for people.' }),
    request_id: z.string().meta({ description: 'Names the request in the log.' }),
  })
  .meta({ id: 'Problem' });

/** The names of the status codes. Node has older ones for these two than RFC 9110. */
export const TITLES: Readonly<Record<number, string | undefined>> = {
  ...STATUS_CODES,
  413: 'Content Too Large',
  422: 'Unprocessable Content',
};

/** What Fastify's own errors become. Their messages can quote the body, so they are never passed on. */
const FASTIFY_ERRORS: Readonly<Record<string, (request: FastifyRequest) => ServiceError>> = {
  FST_ERR_CTP_EMPTY_JSON_BODY: () => new ServiceError('invalid_json', 'empty'),
  FST_ERR_CTP_INVALID_JSON_BODY: () => new ServiceError('invalid_json', 'malformed'),
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: () => new ServiceError('invalid_body'),
  FST_ERR_CTP_BODY_TOO_LARGE: (request) =>
    new ServiceError('body_too_large', request.routeOptions.bodyLimit, 'service'),
  FST_ERR_CTP_INVALID_MEDIA_TYPE: () => new ServiceError('unsupported_media_type'),
  FST_ERR_BAD_URL: () => new ServiceError('invalid_url'),
};

/** Fastify's error handler: every fault becomes a problem, and none shows what is inside the service. */
export function handleError(error: FastifyError, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  return sendProblem(asServiceError(error, request), request, reply);
}

function asServiceError(error: FastifyError, request: FastifyRequest): ServiceError {
  if (error instanceof ServiceError) return error;
  const known = FASTIFY_ERRORS[error.code];
  if (known) return known(request);
  const status = error.statusCode ?? 500;
  if (status >= 400 && status < 500) return new ServiceError('invalid_request', status);
  return new ServiceError('internal_error', error);
}

function sendProblem(error: ServiceError, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  // A URL that cannot be decoded is refused before the hook that makes the entry.
  request.logEntry ??= {};
  request.logEntry.outcome = error.code;
  // Refusals such as `overloaded` have no cause, and the request's own line says enough.
  if (error.status >= 500 && error.cause !== undefined) logFault(error, request);
  if (error.status === 401) reply.header('WWW-Authenticate', 'Bearer');
  if (error.retryAfter !== undefined) reply.header('Retry-After', String(error.retryAfter));
  return reply
    .headers(commonHeaders(request.id))
    .code(error.status)
    .type(PROBLEM_JSON)
    .send(JSON.stringify(problemOf(error, request.id)));
}

/** The body of a problem. */
export function problemOf(
  { status, code, message }: ServiceError,
  requestId: string,
): z.output<typeof problemSchema> {
  return {
    type: 'about:blank',
    title: TITLES[status] ?? 'Error',
    status,
    code,
    detail: message,
    request_id: requestId,
  };
}

/**
 * Logs what is needed to find a fault, and nothing that could hold a path or content: of an error, its name and where
 * it was thrown, never its message.
 */
function logFault({ code, cause }: ServiceError, request: FastifyRequest): void {
  const fault =
    cause instanceof Error
      ? { errorName: cause.name, stack: cause.stack?.split('\n').filter((line) => /^\s+at /.test(line)) }
      : cause;
  request.log.error({ reqId: request.id, code, fault }, 'request failed');
}
