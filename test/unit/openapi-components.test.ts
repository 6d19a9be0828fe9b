import type { OpenAPIV3_1 } from 'openapi-types';
import { expect, it } from 'vitest';
import { shareComponents } from '../../src/http/openapi-components.ts';

const problem = (...errors: [code: string, detail: string][]) => ({
  description: errors.map(([code]) => code).join(),
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

it('shares the responses with the same errors, with the examples of all of them', () => {
  const ok = { description: 'It worked.' };
  const { responses, operations } = share(
    { responses: { 200: ok, 404: problem(['not_found', 'no tenant']) } },
    { responses: { 200: ok, 404: problem(['not_found', 'no file']) } },
    { responses: { 200: ok, 404: problem(['not_found', 'no tenant']) } },
    { responses: { 404: problem(['not_found', 'no tenant'], ['other', 'once']) } },
  );
  expect(responses).toStrictEqual({
    NotFound: {
      description: 'not_found',
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
  const alone = { responses: { 404: problem(['not_found', 'no tenant'], ['other', 'once']) } };
  expect(operations).toStrictEqual([shared, shared, shared, alone]);
});

it('names a response by its only error or its status, and then by what makes the difference', () => {
  const few = { responses: { 403: problem(['host', ''], ['key', '']) } };
  const more = { responses: { 403: problem(['host', ''], ['key', ''], ['read_only_key', '']) } };
  const one = { responses: { 429: problem(['too_many_at_once', '']) } };
  const { responses } = share(more, more, few, few, one, one);
  expect(Object.keys(responses ?? {})).toStrictEqual([
    'TooManyAtOnce',
    'Forbidden',
    'ForbiddenOrReadOnlyKey',
  ]);
});

it('shares a parameter, and of different ones with a name the most frequent', () => {
  const { parameters, operations } = share(
    { parameters: [parameter('if-match', 9), parameter('limit', 1)] },
    { parameters: [parameter('if-match', 9), parameter('limit', 2)] },
    { parameters: [parameter('once', 9), parameter('limit', 2)] },
    { parameters: [parameter('limit', 1)] },
    { parameters: [parameter('limit', 2)] },
  );
  expect(parameters).toStrictEqual({ Limit: parameter('limit', 2), IfMatch: parameter('if-match', 9) });
  const limit = { $ref: '#/components/parameters/Limit' };
  const ifMatch = { $ref: '#/components/parameters/IfMatch' };
  expect(operations.map((each) => each?.parameters)).toStrictEqual([
    [ifMatch, parameter('limit', 1)],
    [ifMatch, limit],
    [parameter('once', 9), limit],
    [parameter('limit', 1)],
    [limit],
  ]);
});
