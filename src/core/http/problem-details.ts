import { STATUS_CODES } from 'node:http';
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { ServiceError } from '../errors/errors.ts';
import { commonHeaders } from './access-log.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The media type for the route's request body. The default is JSON. */
    bodyType?: string;
    /** Returns the `WWW-Authenticate` header for a 401. The default asks for a bearer token. */
    challenge?: (request: FastifyRequest) => string;
  }
}

export const PROBLEM_JSON = 'application/problem+json';

/** A problem (RFC 9457) with a `code` for programs and the `request_id` in the log. */
export const problemSchema = z
  .object({
    type: z.literal('about:blank'),
    title: z.string().meta({ description: "The status code's name.", examples: ['Bad Request'] }),
    status: z.int().meta({ description: 'The HTTP status code.', examples: [400] }),
    code: z.string().meta({ description: "The problem's kind, for programs.", examples: ['invalid_json'] }),
    detail: z.string().meta({ description: 'A message for people: the problem and its remedy.' }),
    request_id: z.string().meta({ description: 'Identifies the request in the log.' }),
  })
  .meta({ id: 'Problem' });

/** The titles for the status codes. For these two, Node has older names than RFC 9110. */
export const TITLES: Readonly<Record<number, string | undefined>> = {
  ...STATUS_CODES,
  413: 'Content Too Large',
  422: 'Unprocessable Content',
};

/** The codes for Fastify's errors. Fastify's messages are replaced because they can quote the body. */
const FASTIFY_ERRORS: Readonly<
  Record<string, (request: FastifyRequest, error: FastifyError) => ServiceError>
> = {
  FST_ERR_CTP_EMPTY_JSON_BODY: () => new ServiceError('invalid_json', 'empty'),
  FST_ERR_CTP_INVALID_JSON_BODY: () => new ServiceError('invalid_json', 'malformed'),
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: () => new ServiceError('invalid_body'),
  FST_ERR_CTP_BODY_TOO_LARGE: (request) =>
    new ServiceError('body_too_large', request.routeOptions.bodyLimit, 'service'),
  FST_ERR_CTP_INVALID_MEDIA_TYPE: (request) =>
    new ServiceError('unsupported_media_type', request.routeOptions.config.bodyType),
  FST_ERR_BAD_URL: () => new ServiceError('invalid_url'),
  // Fastify destroys a handler's response stream when the client disconnects.
  ERR_STREAM_PREMATURE_CLOSE: () => new ServiceError('client_gone'),
};

/** Fastify's error handler. Every error becomes a problem that reveals no internals. */
export function handleError(
  error: FastifyError | ServiceError,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  return sendProblem(toServiceError(error, request), request, reply);
}

export function toServiceError(error: FastifyError | ServiceError, request: FastifyRequest): ServiceError {
  if (error instanceof ServiceError) return error;
  const known = FASTIFY_ERRORS[error.code];
  if (known) return known(request, error);
  const status = error.statusCode ?? 500;
  if (status >= 400 && status < 500) return new ServiceError('invalid_request', status);
  return new ServiceError('internal_error', error);
}

export function problemFor(error: unknown): ServiceError {
  return error instanceof ServiceError ? error : new ServiceError('internal_error', error);
}

function sendProblem(error: ServiceError, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  // If a URL cannot be decoded, Fastify rejects the request before the hook that creates the entry.
  request.logEntry ??= {};
  request.logEntry.outcome = error.code;
  noteFault(error, request);
  if (error.status === 401) reply.header('WWW-Authenticate', requestChallenge(request));
  if (error.retryAfter !== undefined) reply.header('Retry-After', String(error.retryAfter));
  return reply
    .headers(commonHeaders(request.id))
    .code(error.status)
    .type(PROBLEM_JSON)
    .send(JSON.stringify(toProblem(error, request.id)));
}

function requestChallenge(request: FastifyRequest): string {
  return request.routeOptions.config?.challenge?.(request) ?? 'Bearer';
}

export function toProblem(
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
 * Logs an internal error with a cause. Without a cause, for example for `overloaded`, the request's log line is enough.
 */
export function noteFault(error: ServiceError, request: FastifyRequest): void {
  if (error.status >= 500 && error.cause !== undefined) logFault(error, request);
}

/**
 * Logs an error's name and the place where it was thrown. The message is omitted because it could contain a path or
 * content.
 */
export function logFault({ code, cause }: ServiceError, request: FastifyRequest): void {
  const fault =
    cause instanceof Error
      ? { errorName: cause.name, stack: cause.stack?.split('\n').filter((line) => /^\s+at /.test(line)) }
      : cause;
  request.log.error({ reqId: request.id, trace_id: request.logEntry.traceId, code, fault }, 'request failed');
}
