/* Texts and examples for docs/errors.md, one entry for each error code. */
import type { ErrorCode } from '../src/core/errors/catalog.ts';
import { ServiceError } from '../src/core/errors/errors.ts';
import { MAX_HEADERS, MAX_PIPELINED } from '../src/core/http/connections.ts';
import { TENANT_ID_RULE } from '../src/core/tenants/ids.ts';
import { overQuota, tooLarge } from '../src/features/memory-stores/memories.ts';
import {
  invalid,
  notFound,
  ownError,
  pathConflict,
  preconditionFailed,
  type StoreError,
  stillCurrent,
} from '../src/features/memory-stores/store-errors.ts';

export interface ErrorGuide {
  /** Error whose response is the page's example. */
  example: ServiceError;
  /** Whether the same request can succeed later. */
  retry: boolean;
  /** Condition for a retry, or the reason against it. */
  retryNote?: string;
  remedy: string;
  /** Memory Stores API errors in the same situation; empty if that API cannot be in it. */
  stores: readonly StoreError[];
}

type GuideTexts = Pick<ErrorGuide, 'retry' | 'remedy'> & Partial<Pick<ErrorGuide, 'retryNote' | 'stores'>>;

/** Describes an error that the Memory Stores API returns in its own format, unless `stores` lists other errors. */
const guide = (example: ServiceError, texts: GuideTexts): ErrorGuide => ({
  example,
  stores: [ownError(example)],
  ...texts,
});

/** Condition for errors that end when an operator acts. */
const UNTIL_MENDED = 'The error lasts until an operator acts.';

export const ERROR_GUIDE: Readonly<Record<ErrorCode, ErrorGuide>> = {
  // Requests

  invalid_json: guide(new ServiceError('invalid_json', 'malformed'), {
    retry: false,
    remedy: 'Send JSON. Serialize the body with a library instead of building a string.',
  }),
  invalid_utf8: guide(new ServiceError('invalid_utf8'), {
    retry: false,
    remedy: 'Encode the body as UTF-8.',
  }),
  invalid_body: guide(new ServiceError('invalid_body'), {
    retry: false,
    remedy: 'Set `Content-Length` to the number of bytes, not characters, or omit the header.',
  }),
  json_too_complex: guide(new ServiceError('json_too_complex', 'values', 4096), {
    retry: false,
    remedy: 'Send fewer calls in one array, or less deeply nested JSON.',
  }),
  not_a_memory_input: guide(new ServiceError('not_a_memory_input', 'it has no `command`'), {
    retry: false,
    remedy:
      "Send a command's input or a whole `tool_use` block ([the request](contract.md#4-the-request-and-response)).",
    stores: [],
  }),
  invalid_idempotency_key: guide(new ServiceError('invalid_idempotency_key'), {
    retry: false,
    remedy: 'Use a UUID, or the `id` of the `tool_use` block.',
    stores: [],
  }),
  invalid_url: guide(new ServiceError('invalid_url'), {
    retry: false,
    remedy: 'Percent-encode each part of the URL.',
  }),
  invalid_request: guide(new ServiceError('invalid_request', 400), {
    retry: false,
    remedy: 'Look for a proxy or a client that changes requests. Send plain HTTP/1.1 to this port.',
  }),
  invalid_parameter: guide(
    new ServiceError(
      'invalid_parameter',
      'The body is not a JSON object. Send {"query": "what to look for"}.',
    ),
    {
      retry: false,
      remedy: 'Correct the parameter or the field that `detail` names.',
      stores: [invalid('limit: Too small: expected number to be >=1')],
    },
  ),
  route_not_found: guide(new ServiceError('route_not_found'), {
    retry: false,
    remedy: 'Correct the path, or the port: the admin API listens on `ADMIN_PORT`, with paths below `/v1`.',
  }),
  method_not_allowed: guide(new ServiceError('method_not_allowed', 'POST'), {
    retry: false,
    remedy: 'Use a method of the header `Allow`.',
  }),
  changes_expired: guide(new ServiceError('changes_expired', 'acme', '2026-11-22T09:30:00.123456Z'), {
    retry: false,
    remedy:
      'Get a new position with `after=now`, read all files once, and continue from that position ([the change feed](feed.md#when-a-position-expires)).',
    stores: [],
  }),
  body_timeout: guide(new ServiceError('body_timeout'), {
    retry: true,
    retryNote: 'Use a faster connection.',
    remedy: 'Send less in one request, or raise `TRANSFER_TIMEOUT_MS`.',
  }),
  request_timeout: guide(new ServiceError('request_timeout'), {
    retry: true,
    remedy: 'Send the whole request immediately after the connection is open, or raise `REQUEST_TIMEOUT_MS`.',
  }),
  body_too_large: guide(new ServiceError('body_too_large', 6356992, 'service'), {
    retry: false,
    remedy: "Send less in one request, or raise `MAX_BODY_BYTES` or the tenant's limit.",
  }),
  unsupported_media_type: guide(new ServiceError('unsupported_media_type'), {
    retry: false,
    remedy: 'Send the header `Content-Type` that `detail` names.',
  }),
  unsupported_charset: guide(new ServiceError('unsupported_charset'), {
    retry: false,
    remedy: 'Encode the body as UTF-8, and send `Content-Type: application/json`.',
  }),
  unsupported_content_encoding: guide(new ServiceError('unsupported_content_encoding'), {
    retry: false,
    remedy: 'Disable request compression in the client or the proxy.',
  }),
  expectation_failed: guide(new ServiceError('expectation_failed'), {
    retry: false,
    remedy: 'Remove the header `Expect`.',
  }),
  idempotency_key_reused: guide(new ServiceError('idempotency_key_reused'), {
    retry: false,
    remedy:
      'Use a new key for each call, and the same key only for the same bytes ([reused keys](idempotency.md#reused-keys)).',
    stores: [],
  }),
  precondition_required: guide(new ServiceError('precondition_required'), {
    retry: false,
    remedy: 'Read the file, and send its `ETag` in `If-Match`. For a new file, send `If-None-Match: *`.',
    stores: [],
  }),
  rate_limited: guide(new ServiceError('rate_limited', 60, 7), {
    retry: true,
    remedy: "Send fewer requests, or raise `RATE_LIMIT_PER_MINUTE` or the tenant's limit.",
  }),
  too_many_at_once: guide(new ServiceError('too_many_at_once'), {
    retry: true,
    remedy:
      'Limit the number of requests that the client sends at the same time ([overload](capacity.md#overload)).',
  }),
  too_many_pipelined: guide(new ServiceError('too_many_pipelined', MAX_PIPELINED), {
    retry: true,
    retryNote: 'The service closes the connection after the response.',
    remedy: 'Disable HTTP pipelining, or open more connections.',
  }),
  too_many_streams: guide(new ServiceError('too_many_streams'), {
    retry: true,
    remedy: 'Close streams that nothing reads, or raise `MAX_STREAMS_PER_TENANT`.',
  }),
  headers_too_large: guide(new ServiceError('headers_too_large'), {
    retry: false,
    remedy: 'Remove headers and cookies that the service does not need.',
  }),
  too_many_headers: guide(new ServiceError('too_many_headers', MAX_HEADERS), {
    retry: false,
    remedy: 'Remove headers that the service does not need.',
  }),
  client_gone: guide(new ServiceError('client_gone'), {
    retry: true,
    retryNote: 'A write may have been applied.',
    remedy: 'Raise the timeout of the client, or of the proxy before the service.',
    stores: [],
  }),

  // Credentials and access

  tenant_required: guide(new ServiceError('tenant_required'), {
    retry: false,
    remedy: 'Send `X-Tenant-Id`, or use a key for one tenant.',
    stores: [],
  }),
  invalid_tenant: guide(new ServiceError('invalid_tenant', TENANT_ID_RULE), {
    retry: false,
    remedy: 'Send the ID of an existing tenant. `memory-service tenants list` shows all IDs.',
    stores: [],
  }),
  unauthorized: guide(new ServiceError('unauthorized'), {
    retry: false,
    remedy: 'Send a valid key or token. `memory-service keys list` shows the keys and their expiry.',
  }),
  tenant_mismatch: guide(new ServiceError('tenant_mismatch'), {
    retry: false,
    remedy: 'Omit `X-Tenant-Id`, or use a key for that tenant.',
    stores: [notFound('memory store')],
  }),
  tenant_suspended: guide(new ServiceError('tenant_suspended', 'initech'), {
    retry: false,
    retryNote: UNTIL_MENDED,
    remedy: 'Ask the operator. `memory-service tenants resume` ends the suspension.',
  }),
  unknown_tenant: guide(new ServiceError('unknown_tenant', 'umbrella'), {
    retry: false,
    retryNote: UNTIL_MENDED,
    remedy: 'Create the tenant with `memory-service tenants create`, or correct `X-Tenant-Id`.',
  }),
  tenant_replaced: guide(new ServiceError('tenant_replaced', 'acme'), {
    retry: true,
    remedy: 'Check that the tenant still exists under this ID.',
  }),
  access_changed: guide(new ServiceError('access_changed'), {
    retry: true,
    retryNote: 'The error is the last event in a stream.',
    remedy: 'Connect again: the new stream has the new access.',
  }),
  is_admin_key: guide(new ServiceError('is_admin_key'), {
    retry: false,
    remedy: 'Use a tenant key or a service key, or send the request to the admin API.',
  }),
  not_an_admin_key: guide(new ServiceError('not_an_admin_key'), {
    retry: false,
    remedy: 'Create an admin key with `memory-service keys create --admin`.',
    stores: [],
  }),
  has_admin_key: guide(new ServiceError('has_admin_key'), {
    retry: false,
    remedy:
      'Sign in to the console with the admin key, or create one with `memory-service keys create --admin`.',
    stores: [],
  }),
  read_only_key: guide(new ServiceError('read_only_key'), {
    retry: false,
    remedy: 'Use an admin key with `operate` or `read_write` access.',
    stores: [],
  }),
  operate_only_key: guide(new ServiceError('operate_only_key'), {
    retry: false,
    remedy: 'Use an admin key with `read_write` access.',
    stores: [],
  }),
  comment_of_another: guide(new ServiceError('comment_of_another'), {
    retry: false,
    remedy: 'Ask the author of the comment, or use an admin key with `read_write` access.',
    stores: [],
  }),
  outside_scope: guide(new ServiceError('outside_scope', 'tenant'), {
    retry: false,
    remedy: 'Use an admin key for this tenant, or for all tenants.',
    stores: [],
  }),
  cannot_share: guide(new ServiceError('cannot_share'), {
    retry: false,
    remedy: 'Use a tenant key that an operator created with `keys create --tenant TENANT --share`.',
    stores: [],
  }),
  sharing_off: guide(new ServiceError('sharing_off'), {
    retry: false,
    remedy: 'Set `SHARING=on`, or let an operator mount the memory. See [sharing](sharing.md).',
    stores: [],
  }),
  sharing_not_allowed: guide(new ServiceError('sharing_not_allowed', 'customer'), {
    retry: false,
    remedy:
      'Share between tenants with the same value under `SHARING_SAME_METADATA`. An operator sets it with `tenants set --metadata`.',
    stores: [],
  }),
  own_draft: guide(new ServiceError('own_draft'), {
    retry: false,
    remedy: 'Ask another admin to review and merge the draft.',
    stores: [],
  }),
  host_not_allowed: guide(new ServiceError('host_not_allowed', 'Host'), {
    retry: false,
    remedy:
      'Send the request to `localhost`, or set `AUTH=keys` ([authentication](security.md#authentication)).',
  }),
  too_many_failed_attempts: guide(new ServiceError('too_many_failed_attempts', 60), {
    retry: true,
    retryNote: 'Correct the credential first.',
    remedy:
      'Look for a client with an old key. Behind a proxy, set `TRUST_PROXY`, so that each client has its own address.',
  }),

  // Operations

  not_found: guide(new ServiceError('no_such_tenant', 'umbrella'), {
    retry: false,
    remedy: 'Correct the ID or the path that `detail` names. The resource may have been deleted.',
    stores: [notFound('memory store'), notFound('memory'), notFound('memory version')],
  }),
  rejected: guide(new ServiceError('file_too_large', '/memories/notes.md', 1048576), {
    retry: false,
    retryNote: 'With `Retry-After`, too many jobs are active, and a later request can succeed.',
    remedy: 'Read `detail`, which names the obstacle and the remedy.',
    stores: [
      tooLarge(1048576),
      pathConflict({ path: '/memories/notes.md' as never, memoryId: '' }),
      stillCurrent(),
      ownError(new ServiceError('tenant_is_mounted', 'acme', [], false)),
    ],
  }),
  over_quota: guide(
    new ServiceError('quota_exceeded', 'globex', 'change', { of: 'bytes', used: 99, limit: 100, needed: 20 }),
    {
      retry: false,
      remedy: 'Delete or shorten files, or raise the quota with `memory-service tenants set`.',
      stores: [overQuota({ of: 'bytes', used: 99, limit: 100, needed: 20 })],
    },
  ),
  precondition_failed: guide(new ServiceError('changed_since_read', '/memories/notes.md'), {
    retry: false,
    retryNote: 'The same precondition fails again.',
    remedy: 'Read the file or run the dry run again, and repeat the change on the new state.',
    stores: [preconditionFailed()],
  }),
  history_incomplete: guide(new ServiceError('history_incomplete', 'acme', '2026-11-20T08:00:00.000Z'), {
    retry: false,
    remedy: 'Choose a later time. To keep a longer history, raise `HISTORY_DAYS`.',
    stores: [],
  }),
  tenant_exists: guide(new ServiceError('tenant_exists', 'acme'), {
    retry: false,
    remedy: 'Use the existing tenant, or choose another ID.',
    stores: [],
  }),
  tenant_archived: guide(new ServiceError('tenant_archived', 'hooli'), {
    retry: false,
    remedy: 'Write to another tenant. An archived tenant cannot be restored.',
  }),

  // Service and database

  internal_error: guide(new ServiceError('internal_error'), {
    retry: false,
    retryNote: 'A write may have been applied: repeat it only with the same idempotency key.',
    remedy: 'Find the stack of the failure in the log by `request_id`, and report it.',
  }),
  database_unavailable: guide(new ServiceError('database_unavailable'), {
    retry: true,
    remedy: 'Read the reason in the log of the service ([when the database fails](failures.md)).',
  }),
  database_busy: guide(new ServiceError('database_busy'), {
    retry: true,
    remedy:
      'Look for long transactions and slow statements in the database ([when the database fails](failures.md)).',
  }),
  database_not_migrated: guide(new ServiceError('database_not_migrated'), {
    retry: true,
    retryNote: UNTIL_MENDED,
    remedy: 'Run `memory-service migrate` ([upgrade](upgrade.md)).',
    stores: [],
  }),
  database_too_new: guide(new ServiceError('database_too_new'), {
    retry: true,
    retryNote: UNTIL_MENDED,
    remedy: 'Run the newer version on every replica ([upgrade](upgrade.md)).',
    stores: [],
  }),
  database_read_only: guide(new ServiceError('database_read_only'), {
    retry: true,
    retryNote: UNTIL_MENDED,
    remedy: 'Set `DATABASE_URL` to the primary, or promote the standby.',
    stores: [],
  }),
  installation_secret_differs: guide(new ServiceError('installation_secret_differs'), {
    retry: false,
    retryNote: UNTIL_MENDED,
    remedy: 'Set the same `INSTALLATION_SECRET` for every replica and command.',
  }),
  shutting_down: guide(new ServiceError('shutting_down'), {
    retry: true,
    remedy: 'Send requests to another replica. The load balancer does so when `/readyz` fails.',
    stores: [],
  }),
  overloaded: guide(new ServiceError('overloaded'), {
    retry: true,
    remedy: 'Add replicas, or raise the limits ([overload](capacity.md#overload)).',
  }),
  streams_full: guide(new ServiceError('streams_full'), {
    retry: true,
    remedy: 'Add replicas, or raise `MAX_STREAMS`.',
  }),
  timeout: guide(new ServiceError('timeout'), {
    retry: true,
    retryNote: 'A write may have been applied: repeat it only with the same idempotency key.',
    remedy: 'Look for a slow database, or raise `HANDLER_TIMEOUT_MS`.',
  }),
  issuer_unavailable: guide(new ServiceError('issuer_unavailable'), {
    retry: true,
    remedy: 'Check that the service can reach `JWKS_URL`.',
  }),
};
