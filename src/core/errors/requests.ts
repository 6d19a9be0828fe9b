import { amount } from '../lib/units.ts';
import type { ErrorDefinition } from './definition.ts';

/** Errors about an invalid request, or about too many requests. */
export const REQUEST_ERRORS = {
  invalid_json: {
    description: 'The body is not JSON.',
    problem: (fault: 'empty' | 'malformed') => ({
      status: 400,
      message: fault === 'empty' ? 'The body is empty; send a JSON object.' : 'The body is not valid JSON.',
    }),
  },
  invalid_utf8: {
    description: 'The body is not UTF-8.',
    problem: () => ({ status: 400, message: 'The body is not valid UTF-8.' }),
  },
  invalid_body: {
    description: 'The body is shorter or longer than its `Content-Length`.',
    problem: () => ({ status: 400, message: 'The length of the body does not match its Content-Length.' }),
  },
  json_too_complex: {
    description: 'The body has too many values or nests too deeply.',
    problem: (excess: 'levels' | 'values', limit: number) => ({
      status: 400,
      message:
        excess === 'levels'
          ? `The body nests arrays and objects deeper than ${limit} levels, the limit of this service.`
          : `The body has more than ${limit} fields and array items, the limit of this service.`,
    }),
  },
  not_a_memory_input: {
    description: 'The body is JSON, but not a memory tool input.',
    problem: (why: string) => ({
      status: 400,
      message: `The body is not a memory tool input: ${why}. Send {"command": "view", "path": "/memories"} or a whole tool_use block.`,
    }),
  },
  invalid_idempotency_key: {
    description: '`Idempotency-Key` is malformed.',
    problem: () => ({
      status: 400,
      message: 'Idempotency-Key must be 1 to 255 printable ASCII characters without spaces.',
    }),
  },
  invalid_url: {
    description: 'The URL is malformed.',
    problem: () => ({ status: 400, message: 'The URL is not valid.' }),
  },
  invalid_request: {
    description: 'The request is not valid HTTP for this service.',
    problem: (status: number) => ({ status, message: 'The request is not valid HTTP for this service.' }),
  },
  route_not_found: {
    description: 'The route does not exist.',
    problem: () => ({
      status: 404,
      message: 'This route does not exist. GET /docs lists the routes.',
    }),
  },
  method_not_allowed: {
    description: 'The route does not support the method; `Allow` lists those that it does.',
    problem: (allowed: string) => ({ status: 405, message: `This route supports only: ${allowed}.` }),
  },
  changes_expired: {
    description: 'Changes after the position are no longer in the history.',
    problem: (tenant: string, historySince: string | null) => ({
      status: 410,
      message:
        historySince === null
          ? `Another tenant has the ID ${tenant} now, or an import has replaced the tenant's history. Begin again with \`after=now\`, then read all files once.`
          : `The position is before ${historySince}, where the history of tenant ${tenant} begins. Begin again with \`after=now\`, then read all files once.`,
    }),
  },
  body_timeout: {
    description: 'The body arrived too slowly.',
    problem: () => ({
      status: 408,
      message: 'The body arrived too slowly. Send it again over a faster connection.',
    }),
  },
  request_timeout: {
    description: 'The request did not arrive in time.',
    problem: () => ({ status: 408, message: 'The request did not arrive in time.' }),
  },
  body_too_large: {
    description: "The body exceeds `MAX_BODY_BYTES` or the tenant's own limit.",
    problem: (limitBytes: number, limitOf: 'service' | 'tenant') => ({
      status: 413,
      message: `The body is larger than ${amount(limitBytes, 'byte')}, the limit of this ${limitOf === 'service' ? 'service (MAX_BODY_BYTES)' : 'tenant'}.`,
    }),
  },
  unsupported_media_type: {
    description: 'The route does not accept this body type.',
    problem: (type = 'application/json') => ({
      status: 415,
      message: `Send the body as Content-Type: ${type}.`,
    }),
  },
  unsupported_charset: {
    description: "The body's charset is not UTF-8.",
    problem: () => ({
      status: 415,
      message: 'Send the body as UTF-8, with charset=utf-8 or without a charset.',
    }),
  },
  unsupported_content_encoding: {
    description: 'The body is compressed.',
    problem: () => ({
      status: 415,
      message: 'Content-Encoding is not supported: send the body uncompressed.',
    }),
  },
  expectation_failed: {
    description: '`Expect` asks for something other than `100-continue`.',
    problem: () => ({ status: 417, message: 'Only Expect: 100-continue is supported.' }),
  },
  idempotency_key_reused: {
    description: 'The idempotency key was used for another request.',
    problem: () => ({
      status: 422,
      message:
        'The idempotency key (the id of a tool_use block, or Idempotency-Key) was used for another write. Use a new key for each call.',
    }),
  },
  precondition_required: {
    description: 'The change requires `If-Match` or `If-None-Match`.',
    problem: () => ({
      status: 428,
      message:
        'The change requires a precondition: If-Match with the ETag of the file that you read, If-Match: * for any content, or If-None-Match: * for a new file.',
    }),
  },
  rate_limited: {
    description: 'The tenant has sent too many requests in this minute.',
    problem: (requestsPerMinute: number, retryAfter: number) => ({
      status: 429,
      message: `The tenant has used its ${amount(requestsPerMinute, 'request')} per minute. Retry-After says when to try again.`,
      retryAfter,
    }),
  },
  too_many_at_once: {
    description: 'The tenant, or in the admin API the key, has too many requests in flight.',
    problem: () => ({
      status: 429,
      message: 'Too many requests are in flight. Wait for their responses.',
      retryAfter: 1,
    }),
  },
  too_many_pipelined: {
    description: 'The connection has too many pending requests.',
    problem: (limit: number) => ({
      status: 429,
      message: `The connection has ${limit} pending requests. Wait for their responses, or use more connections.`,
      retryAfter: 1,
    }),
  },
  too_many_streams: {
    description: 'The tenant, or in the admin API the key, has too many open streams.',
    problem: () => ({
      status: 429,
      message:
        'Too many streams are open (MAX_STREAMS_PER_TENANT). Close one, or share one stream among its readers.',
      retryAfter: 5,
    }),
  },
  headers_too_large: {
    description: 'The headers are too large.',
    problem: () => ({ status: 431, message: 'The headers are too large.' }),
  },
  too_many_headers: {
    description: 'There are too many headers.',
    problem: (limit: number) => ({ status: 431, message: `The request has more than ${limit} headers.` }),
  },
  client_gone: {
    description: 'The client closed the connection. Only the log and the metrics show this.',
    problem: () => ({
      status: 499,
      message: 'The client closed the connection before the response.',
    }),
  },
} satisfies Record<string, ErrorDefinition<never[]>>;
