import type { OpenAPIV3_1 } from 'openapi-types';
import { expect, it } from 'vitest';
import { shareComponents } from './openapi.ts';

type Example = [code: string, detail: string];
const description = (codes: string[]) => codes.map((code) => `- \`${code}\`: What it means.`).join('\n');
const problem = (...errors: Example[]) => ({
  description: description(errors.map(([code]) => code)),
  content: {
    'application/problem+json': {
      examples: Object.fromEntries(errors.map(([code, detail]) => [code, { value: { code, detail } }])),
    },
  },
});
const parameter = (name: string, maxLength: number) => ({ name, in: 'query', schema: { maxLength } });
const share = (...operations: object[]) => {
  const paths = Object.fromEntries(operations.map((get, i) => [`/${i}`, { get }]));
  const document = { openapi: '3.1.0', paths } as unknown as OpenAPIV3_1.Document;
  shareComponents(document);
  return { ...document.components, operations: Object.values(document.paths ?? {}).map((path) => path?.get) };
};

it('shares a response among operations if the errors are the same, and merges the examples', () => {
  const ok = { description: 'It worked.' };
  const alone = { responses: { 404: problem(['not_found', 'no tenant'], ['other', 'once']) } };
  const { responses, operations } = share(
    { responses: { 200: ok, 404: problem(['not_found', 'no tenant']) } },
    { responses: { 200: ok, 404: problem(['not_found', 'no file']) } },
    { responses: { 200: ok, 404: problem(['not_found', 'no tenant']) } },
    structuredClone(alone),
  );
  expect(responses).toStrictEqual({
    NotFound: {
      description: '`not_found`: What it means.',
      content: {
        'application/problem+json': {
          examples: {
            not_found: { value: { code: 'not_found', detail: 'no tenant' } },
            not_found_2: { value: { code: 'not_found', detail: 'no file' } },
          },
        },
      },
    },
  });
  const shared = { responses: { 200: ok, 404: { $ref: '#/components/responses/NotFound' } } };
  expect(operations).toStrictEqual([shared, shared, shared, alone]);
});

it('merges the descriptions if two responses have the same errors', () => {
  const error = (...messages: string[]) => ({
    description: messages.map((message) => `- \`invalid\`: ${message}`).join('\n'),
    content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
  });
  const { responses } = share(
    { responses: { 400: error('No JSON.', 'Too long.') } },
    { responses: { 400: error('Too long.') } },
  );
  expect(responses).toStrictEqual({ Invalid: error('No JSON.', 'Too long.') });
});

it('names a shared response by its only error or its status, and adds an error if that name is taken', () => {
  const one = { responses: { 415: problem(['invalid', '']), 429: problem(['busy', '']) } };
  const same = { responses: { 417: problem(['invalid', '']) } };
  const few = { responses: { 403: problem(['host', ''], ['key', '']) } };
  const more = { responses: { 403: problem(['host', ''], ['key', ''], ['read_only_key', '']) } };
  const operations = [more, more, few, few, one, one, same, same].map((each) => structuredClone(each));
  expect(Object.keys(share(...operations).responses ?? {})).toStrictEqual([
    'Invalid',
    'Busy',
    'ExpectationFailed',
    'Forbidden',
    'ForbiddenOrReadOnlyKey',
  ]);
});

it("names responses with another API's errors separately", () => {
  const error = (name: string) => {
    const schema = { $ref: `#/components/schemas/${name}` };
    return { description: description(['a', 'b']), content: { [name]: { schema } } };
  };
  const problems = { responses: { 503: error('Problem') } };
  const errors = { responses: { 503: error('StoreError') } };
  const operations = [problems, problems, errors, errors].map((each) => structuredClone(each));
  expect(Object.keys(share(...operations).responses ?? {})).toStrictEqual([
    'ServiceUnavailable',
    'StoreServiceUnavailable',
  ]);
});

it('shares a repeated parameter, or the most frequent one if several have the same name', () => {
  const { parameters, operations } = share(
    { parameters: [parameter('at[gte]', 9), parameter('limit', 1)] },
    { parameters: [parameter('at[gte]', 9), parameter('limit', 2)] },
    { parameters: [parameter('once', 9), parameter('limit', 2)] },
    { parameters: [parameter('limit', 1)] },
    { parameters: [parameter('limit', 2)] },
  );
  expect(parameters).toStrictEqual({ Limit: parameter('limit', 2), AtGte: parameter('at[gte]', 9) });
  const limit = { $ref: '#/components/parameters/Limit' };
  const atLeast = { $ref: '#/components/parameters/AtGte' };
  expect(operations.map((each) => each?.parameters)).toStrictEqual([
    [atLeast, parameter('limit', 1)],
    [atLeast, limit],
    [parameter('once', 9), limit],
    [parameter('limit', 1)],
    [limit],
  ]);
});
