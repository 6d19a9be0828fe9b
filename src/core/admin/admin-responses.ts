import { ServiceError } from '../errors/errors.ts';
import { tooComplex } from '../http/json-limits.ts';
import { problemResponses } from '../http/problem-responses.ts';
import { ARCHIVE } from '../lib/operation.ts';
import type { AnyAdminOperation } from './admin-operation.ts';

/** Errors that every admin API route can return. */
const COMMON = [
  new ServiceError('invalid_parameter', 'The query parameter limit must be at most 200.'),
  new ServiceError('invalid_request', 400),
  new ServiceError('invalid_request', 414),
  new ServiceError('unauthorized'),
  new ServiceError('not_an_admin_key'),
  new ServiceError('outside_scope', 'tenant'),
  new ServiceError('host_not_allowed', 'Host'),
  new ServiceError('request_timeout'),
  new ServiceError('expectation_failed'),
  new ServiceError('too_many_failed_attempts', 60),
  new ServiceError('too_many_at_once'),
  new ServiceError('headers_too_large'),
  new ServiceError('internal_error'),
  new ServiceError('database_unavailable'),
  new ServiceError('database_busy'),
  new ServiceError('installation_secret_differs'),
  new ServiceError('overloaded'),
];

/** Additional errors for routes that make changes. */
const CHANGING = [
  new ServiceError('read_only_key'),
  new ServiceError('operate_only_key'),
  new ServiceError('body_timeout'),
];

/** Additional errors for routes with a text body. */
const TEXT_BODY = [
  new ServiceError('invalid_utf8'),
  new ServiceError('invalid_body'),
  new ServiceError('body_too_large', 6356992, 'service'),
  new ServiceError('unsupported_charset'),
  new ServiceError('unsupported_content_encoding'),
];

const BODY = {
  json: [
    new ServiceError('invalid_json', 'malformed'),
    tooComplex('values'),
    ...TEXT_BODY,
    new ServiceError('unsupported_media_type'),
  ],
  'text/plain': [...TEXT_BODY, new ServiceError('unsupported_media_type', 'text/plain')],
  [ARCHIVE]: [new ServiceError('unsupported_media_type', ARCHIVE)],
};

/** Documents an operation's errors: its own errors, and the errors that follow from its method and body. */
export function errorResponses({
  method,
  body,
  bodyType,
  errors = [],
}: AnyAdminOperation): Record<number, object> {
  const ofBody = body === undefined ? [] : BODY[bodyType ?? 'json'];
  return problemResponses([...ofBody, ...COMMON, ...(method === 'GET' ? [] : CHANGING), ...errors]);
}
