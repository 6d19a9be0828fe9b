import type { FastifySchema } from 'fastify';
import { z } from 'zod';
import { ServiceError } from '../../errors.ts';
import { searchSchema } from '../../search/input.ts';
import { problemResponses } from '../problem-responses.ts';
import { callErrors, resultFields, tenantHeaders } from './execute-schema.ts';

z.globalRegistry.add(searchSchema, { id: 'Search', description: 'An input of the tool `memory_search`.' });

export const foundSchema = z
  .object({
    path: z.string(),
    line: z.int().nullable().meta({ description: 'From 1; null when only the path matches.' }),
    text: z.string().nullable().meta({ description: 'The line, or a part of a long one.' }),
    score: z.number().nullable().meta({
      description:
        'The score of the file; higher is better. Null in the modes `literal` and `regex`, which sort by path.',
    }),
  })
  .meta({ id: 'SearchMatch' });

const resultSchema = z
  .object({ ...resultFields, matches: z.array(foundSchema) })
  .meta({ id: 'SearchResult', description: 'The text for the model, and the same as data.' });

export const notAnObject = () =>
  new ServiceError('invalid_parameter', 'The body is not a JSON object. Send {"query": "what to look for"}.');

/** The second is what the first one finds after the examples of `POST /execute`, up to their deletion. */
const examples = {
  search: {
    summary: 'Search for words',
    request: { query: 'favorite colour of Ada' },
    response: {
      content: 'There are no files in /memories.',
      is_error: false,
      matches: [],
    },
  },
  failure: {
    summary: 'An error that the model can read and correct',
    request: { query: 'a[', mode: 'regex' },
    response: {
      content:
        'Error: Invalid `query` parameter: it is not a regular expression in RE2 syntax: missing closing ]: `[`',
      is_error: true,
      matches: [],
    },
  },
};

/** What `POST /search` takes and returns: documentation only, the route reads the body by itself. */
export const searchRouteSchema: FastifySchema = {
  operationId: 'search',
  summary: 'Search the files of a memory',
  description: [
    'Takes an input of the tool `memory_search` and returns the text for the model, and the same as data.',
    'Errors that the model can correct come back with status 200 and `is_error: true`. With `Accept: text/plain` the body is the text alone, and the header `X-Memory-Is-Error` carries the flag.',
  ].join('\n\n'),
  tags: ['memory'],
  headers: tenantHeaders,
  body: searchSchema.meta({
    'x-examples': Object.fromEntries(
      Object.entries(examples).map(([name, { summary, request }]) => [name, { summary, value: request }]),
    ),
  }),
  response: {
    200: {
      description: 'The result.',
      content: {
        'application/json': {
          schema: resultSchema,
          examples: Object.fromEntries(
            Object.entries(examples).map(([name, { summary, response }]) => [
              name,
              { summary, value: response },
            ]),
          ),
        },
        'text/plain': { schema: z.string() },
      },
    },
    ...problemResponses([...callErrors, notAnObject()]),
  },
};
