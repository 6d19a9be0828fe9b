import type { z } from 'zod';
import { ServiceError } from '../errors/errors.ts';
import { amount } from '../lib/units.ts';

/**
 * Parses one part of a request.
 *
 * @throws ServiceError that names the first invalid field
 */
export function validate<T>(schema: z.ZodType<T>, part: string, data: unknown): T {
  const parsed = schema.safeParse(data, { reportInput: true });
  if (parsed.success) return parsed.data;
  throw new ServiceError('invalid_parameter', describe(part, parsed.error.issues[0]));
}

const PARTS: Partial<Record<string, { whole: string; member: string }>> = {
  body: { whole: 'body', member: 'field' },
  querystring: { whole: 'query', member: 'query parameter' },
  params: { whole: 'URL', member: 'parameter' },
  headers: { whole: 'request', member: 'header' },
};

function describe(part: string, issue: z.core.$ZodIssue | undefined): string {
  const { whole, member } = PARTS[part] ?? { whole: 'request', member: 'parameter' };
  // A repeated query parameter is an array, and a client knows it by its name alone.
  const path = part === 'querystring' ? issue?.path.slice(0, 1) : issue?.path;
  const name = path?.join('.') ?? '';
  const subject = `The ${name === '' ? whole : `${member} ${name}`}`;
  if (issue === undefined) return `${subject} is not valid.`;
  if (issue.code !== 'unrecognized_keys') return `${subject} ${issueText(issue)}`;
  return `${subject} has an unknown ${part === 'body' ? 'field' : 'parameter'}: ${issue.keys.join(', ')}.`;
}

const TYPES: Partial<Record<string, string>> = {
  string: 'a string',
  // All numbers in the admin API are whole.
  number: 'a whole number',
  int: 'a whole number',
  boolean: 'true or false',
  object: 'an object',
  record: 'an object',
  array: 'an array',
};

/**
 * Returns the end of a sentence about the field, such as `must be in the future.` The schemas' own messages have the
 * same form.
 */
function issueText(issue: z.core.$ZodIssue): string {
  const isMissing = issue.code === 'invalid_type' || issue.code === 'invalid_value';
  if (isMissing && issue.input === undefined) return 'is missing.';
  switch (issue.code) {
    case 'custom':
      return issue.message;
    case 'invalid_type':
      return `must be ${TYPES[issue.expected] ?? 'valid'}.`;
    case 'invalid_value':
      return `must be ${alternativesText(issue.values.map(String))}.`;
    case 'too_big':
      return `must ${limitText('at most', issue.maximum, issue.origin)}.`;
    case 'too_small':
      if (issue.origin in UNITS && issue.minimum === 1) return 'must not be empty.';
      return `must ${limitText('at least', issue.minimum, issue.origin)}.`;
    case 'invalid_key':
      return 'has a name that is not valid.';
    case 'invalid_format':
      return FORMATS[issue.format] ?? issue.message;
    default:
      return 'is not valid.';
  }
}

/** Regular expressions are omitted, because their schemas have their own messages. */
const FORMATS: Partial<Record<string, string>> = {
  guid: 'must be a UUID.',
  uuid: 'must be a UUID.',
  datetime: 'must be an ISO 8601 time with an offset, such as 2026-11-22T09:30:00Z.',
};

/**
 * The unit to name in a limit error, by zod type: strings are counted in characters, arrays in items. Numbers have no
 * unit.
 */
const UNITS: Partial<Record<string, string>> = { string: 'character', array: 'item' };

function limitText(bound: string, limit: number | bigint, origin: string): string {
  const unit = UNITS[origin];
  return unit === undefined ? `be ${bound} ${limit}` : `have ${bound} ${amount(Number(limit), unit)}`;
}

function alternativesText(values: string[]): string {
  return values.length === 1 ? values.join() : `one of ${values.join(', ')}`;
}
