import type { z } from 'zod';
import { ServiceError } from '../errors/errors.ts';
import { tooComplex } from '../http/json-limits.ts';
import { problemResponses } from '../http/problem-responses.ts';

export { archived, noSuchTenant, overQuota } from './errors.ts';

/** What every route of the admin API can return instead. */
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
  new ServiceError('overloaded'),
];

/** What every route that changes something can return too. */
const CHANGING = [
  new ServiceError('read_only_key'),
  new ServiceError('operate_only_key'),
  new ServiceError('body_timeout'),
];

/** What every route with a body of text can return too. */
const TEXT_BODY = [
  new ServiceError('invalid_utf8'),
  new ServiceError('invalid_body'),
  new ServiceError('body_too_large', 6356992, 'service'),
  new ServiceError('unsupported_charset'),
  new ServiceError('unsupported_content_encoding'),
];

const BODY = {
  none: [],
  JSON: [
    new ServiceError('invalid_json', 'malformed'),
    tooComplex('values'),
    ...TEXT_BODY,
    new ServiceError('unsupported_media_type'),
  ],
  text: [...TEXT_BODY, new ServiceError('unsupported_media_type', 'text/plain')],
  archive: [new ServiceError('unsupported_media_type', 'application/x-tar')],
};

type Kind = 'reads' | 'changes' | 'takes JSON' | 'takes text' | 'takes an archive';

const BODY_OF = {
  reads: 'none',
  changes: 'none',
  'takes JSON': 'JSON',
  'takes text': 'text',
  'takes an archive': 'archive',
} as const;

/** The errors of a route by what it does, and those of its own. */
export function errorResponses(kind: Kind, own: ServiceError[] = []): Record<number, object> {
  const changing = kind === 'reads' ? [] : CHANGING;
  return problemResponses([...BODY[BODY_OF[kind]], ...COMMON, ...changing, ...own]);
}

/** A successful response in JSON. */
export const json = (description: string, schema: z.ZodType) => ({
  description,
  content: { 'application/json': { schema } },
});
