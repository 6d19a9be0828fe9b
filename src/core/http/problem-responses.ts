import { reasonDescription, ServiceError } from '../errors/errors.ts';
import { MAX_HEADERS, MAX_PIPELINED } from './connections.ts';
import { PROBLEM_JSON, problemSchema, toProblem } from './problem-details.ts';

const REQUEST_ID = 'b7c1c1f0-5d4e-4a57-9a53-3f1f3b0e8a11';

/** Documents a route's errors in OpenAPI, as one response for each status with its errors as examples. */
export function problemResponses(errors: ServiceError[]): Record<number, object> {
  const statuses = [...new Set(errors.map(({ status }) => status))].sort();
  return Object.fromEntries(
    statuses.map((status) => [status, problemResponse(errors.filter((error) => error.status === status))]),
  );
}

function problemResponse(errors: ServiceError[]): object {
  const meanings = [
    ...new Set(errors.map(({ code, reason }) => `\`${code}\`: ${reasonDescription(reason)}`)),
  ];
  const description =
    meanings.length === 1 ? meanings.join() : meanings.map((each) => `- ${each}`).join('\n');
  const examples = Object.fromEntries(
    errors.map((error) => [error.reason, { value: toProblem(error, REQUEST_ID) }]),
  );
  return { description, content: { [PROBLEM_JSON]: { schema: problemSchema, examples } } };
}

/** Errors that every authenticated route on the main listener can return, as examples. */
export const agentErrors = [
  new ServiceError('invalid_request', 400),
  new ServiceError('unauthorized'),
  new ServiceError('is_admin_key'),
  new ServiceError('host_not_allowed', 'Host'),
  new ServiceError('body_timeout'),
  new ServiceError('request_timeout'),
  new ServiceError('body_too_large', 6356992, 'service'),
  new ServiceError('unsupported_media_type'),
  new ServiceError('expectation_failed'),
  new ServiceError('rate_limited', 6000, 7),
  new ServiceError('too_many_at_once'),
  new ServiceError('too_many_failed_attempts', 60),
  new ServiceError('too_many_pipelined', MAX_PIPELINED),
  new ServiceError('headers_too_large'),
  new ServiceError('too_many_headers', MAX_HEADERS),
  new ServiceError('internal_error'),
  new ServiceError('database_unavailable'),
  new ServiceError('database_busy'),
  new ServiceError('installation_secret_differs'),
  new ServiceError('overloaded'),
  new ServiceError('timeout'),
  new ServiceError('tenant_replaced', 'acme'),
  new ServiceError('issuer_unavailable'),
];
