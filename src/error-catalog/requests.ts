import type { ErrorDefinition } from './definition.ts';

/** What is wrong with a request, with its credential, or with the service. */
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
  tenant_required: {
    description: 'The credential is valid for many tenants, and the request names none.',
    problem: () => ({
      status: 400,
      message: 'This credential is valid for many tenants: name one in the header X-Tenant-Id.',
    }),
  },
  invalid_tenant: {
    description: '`X-Tenant-Id` is not a tenant id.',
    problem: (rule: string) => ({
      status: 400,
      message: `X-Tenant-Id must be ${rule}`,
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
  unauthorized: {
    // The caller must not learn which of these it was.
    description: 'The credential is missing, unknown, expired or revoked.',
    problem: () => ({
      status: 401,
      message:
        'A valid credential is required: send Authorization: Bearer with an API key or token of this service.',
    }),
  },
  tenant_mismatch: {
    description: 'The credential is for another tenant.',
    problem: () => ({
      status: 403,
      message:
        'The credential is not valid for the tenant in X-Tenant-Id. Omit the header, or use a credential of that tenant.',
    }),
  },
  tenant_suspended: {
    description: 'The tenant is suspended.',
    problem: (tenant: string) => ({ status: 403, message: `Tenant ${tenant} is suspended.` }),
  },
  unknown_tenant: {
    description: 'The tenant does not exist, and its first write does not create it.',
    problem: (tenant: string) => ({
      status: 403,
      message: `Tenant ${tenant} does not exist. An operator must create it first.`,
    }),
  },
  is_admin_key: {
    description: 'The credential is an admin key, which is for the admin API only.',
    problem: () => ({
      status: 403,
      message:
        'An admin key is valid only for the admin API (ADMIN_PORT). Use a tenant key or a service key here.',
    }),
  },
  not_an_admin_key: {
    description: 'The credential is not an admin key.',
    problem: () => ({
      status: 403,
      message: 'The admin API requires an admin key.',
    }),
  },
  read_only_key: {
    description: 'The admin key may only read.',
    problem: () => ({
      status: 403,
      message: 'This admin key is read-only.',
    }),
  },
  operate_only_key: {
    description: 'The admin key may neither manage keys nor create, copy, rename or delete tenants.',
    problem: () => ({
      status: 403,
      message:
        'This admin key may not do this: its access is `operate`, without keys and without creating, copying, renaming or deleting tenants.',
    }),
  },
  outside_scope: {
    description: 'The admin key is for other tenants, or the operation concerns all of them.',
    problem: (of: 'tenant' | 'fleet') => ({
      status: 403,
      message:
        of === 'tenant'
          ? 'This admin key is not for this tenant.'
          : 'This admin key is for certain tenants, and this concerns all of them.',
    }),
  },
  host_not_allowed: {
    description: 'Without authentication, `Host` and `Origin` must name the loopback interface.',
    problem: (header: 'Host' | 'Origin' | 'another server') => ({
      status: 403,
      message:
        header === 'another server'
          ? 'The request comes from a page of another server. Without authentication the admin API serves only its own pages: open the console at the address of the admin API, or set AUTH=keys.'
          : `${header} is not a name of this machine. Without authentication the service accepts requests to localhost, 127.0.0.1 and [::1] only: use one of these, set AUTH=keys, or set ALLOW_UNAUTHENTICATED=true if something in front authenticates.`,
    }),
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
  body_timeout: {
    description: 'The body arrives too slowly.',
    problem: () => ({
      status: 408,
      message: 'The body arrives too slowly. Send it again over a faster connection.',
    }),
  },
  request_timeout: {
    description: 'The request did not arrive in time.',
    problem: () => ({ status: 408, message: 'The request did not arrive in time.' }),
  },
  tenant_exists: {
    description: 'A tenant with this id already exists.',
    problem: (tenant: string) => ({ status: 409, message: `Tenant ${tenant} already exists.` }),
  },
  tenant_archived: {
    description: 'The tenant is archived: its files can only be read and deleted.',
    problem: (tenant: string) => ({
      status: 409,
      message: `Tenant ${tenant} is archived: nothing in it can be created or changed.`,
    }),
  },
  body_too_large: {
    description: "The body exceeds `MAX_BODY_BYTES` or the tenant's own limit.",
    problem: (limitBytes: number, limitOf: 'service' | 'tenant') => ({
      status: 413,
      message: `The body is larger than ${limitBytes} bytes, the limit of this ${limitOf === 'service' ? 'service (MAX_BODY_BYTES)' : 'tenant'}.`,
    }),
  },
  unsupported_media_type: {
    description: 'The route does not accept this type of body.',
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
      message: `The tenant has used its ${requestsPerMinute} requests per minute. Retry-After says when to try again.`,
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
  too_many_failed_attempts: {
    description: 'The address has sent too many invalid credentials.',
    problem: (retryAfter: number) => ({
      status: 429,
      message: 'Too many failed attempts from this address.',
      retryAfter,
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
  internal_error: {
    description: 'The service failed.',
    problem: (cause?: unknown) => ({
      status: 500,
      message: 'The service failed to handle the request.',
      cause,
    }),
  },
  database_unavailable: {
    description: 'The database cannot be reached.',
    problem: (cause?: unknown, during: 'request' | 'readiness check' = 'request') => ({
      status: 503,
      message:
        during === 'request'
          ? 'The database is not available. Try again shortly.'
          : 'The database does not respond.',
      retryAfter: 2,
      cause,
    }),
  },
  database_busy: {
    description: 'A lock or a statement took too long.',
    problem: (cause?: unknown) => ({
      status: 503,
      message: 'The database is busy. Try again shortly.',
      retryAfter: 1,
      cause,
    }),
  },
  database_not_migrated: {
    description: 'The database lacks the schema of this version.',
    problem: () => ({
      status: 503,
      message: 'The database schema is not that of this version. Migrate the database.',
      retryAfter: 2,
    }),
  },
  database_too_new: {
    description: 'A newer version has migrated the database, and this one cannot run beside it.',
    problem: () => ({
      status: 503,
      message: 'A newer version has migrated the database: use that version.',
      retryAfter: 2,
    }),
  },
  database_read_only: {
    description: 'The database is a standby, which cannot write.',
    problem: () => ({
      status: 503,
      message: 'The database is a standby, which cannot write: DATABASE_URL must name the primary.',
      retryAfter: 2,
    }),
  },
  shutting_down: {
    description: 'The process is shutting down.',
    problem: () => ({ status: 503, message: 'The service is shutting down.', retryAfter: 2 }),
  },
  overloaded: {
    description: 'The service is at capacity.',
    problem: () => ({
      status: 503,
      message: 'The service is at capacity. Try again shortly.',
      retryAfter: 1,
    }),
  },
  timeout: {
    description: 'The request took longer than `HANDLER_TIMEOUT_MS`. A write may still have been applied.',
    problem: () => ({
      status: 503,
      message:
        'The request took too long. A write may still have been applied: retry with the same idempotency key.',
      retryAfter: 1,
    }),
  },
  issuer_unavailable: {
    description: "The token issuer's keys cannot be fetched.",
    problem: () => ({
      status: 503,
      message: "The token issuer's keys cannot be fetched. Try again shortly.",
      retryAfter: 2,
    }),
  },
} satisfies Record<string, ErrorDefinition<never[]>>;
