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

/** The names of the status codes. */
export const TITLES: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  408: 'Request Timeout',
  413: 'Content Too Large',
  414: 'URI Too Long',
  415: 'Unsupported Media Type',
  417: 'Expectation Failed',
  422: 'Unprocessable Content',
  429: 'Too Many Requests',
  431: 'Request Header Fields Too Large',
  500: 'Internal Server Error',
  503: 'Service Unavailable',
};

/** What Fastify's own errors become. Their messages can quote the body, so they are never passed on. */
const FASTIFY_ERRORS: Readonly<Record<string, (request: FastifyRequest) => ServiceError>> = {
  FST_ERR_CTP_EMPTY_JSON_BODY: () =>
    new ServiceError(400, 'invalid_json', 'The body is empty; send a JSON object.'),
  FST_ERR_CTP_INVALID_JSON_BODY: () => new ServiceError(400, 'invalid_json', 'The body is not valid JSON.'),
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: () =>
    new ServiceError(400, 'invalid_body', 'The body is not as long as its Content-Length says.'),
  FST_ERR_CTP_BODY_TOO_LARGE: (request) =>
    new ServiceError(
      413,
      'body_too_large',
      `The body is larger than ${request.routeOptions.bodyLimit} bytes, the limit of this service (MAX_BODY_BYTES).`,
    ),
  FST_ERR_CTP_INVALID_MEDIA_TYPE: () =>
    new ServiceError(415, 'unsupported_media_type', 'Send the body as Content-Type: application/json.'),
  FST_ERR_BAD_URL: () => new ServiceError(400, 'invalid_url', 'The URL is not valid.'),
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
  if (status >= 400 && status < 500) {
    return new ServiceError(status, 'invalid_request', 'The request is not valid HTTP for this service.');
  }
  return new ServiceError(500, 'internal_error', 'The service failed to handle the request.', {
    cause: error,
  });
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
  { status, code, message }: Pick<ServiceError, 'status' | 'code' | 'message'>,
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
