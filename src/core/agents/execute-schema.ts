import type { FastifySchema } from 'fastify';
import { z } from 'zod';
import { ServiceError } from '../errors/errors.ts';
import { tooComplex } from '../http/json-limits.ts';
import { schemaName } from '../http/openapi.ts';
import { agentErrors, problemResponses } from '../http/problem-responses.ts';
import { commands } from '../memory/commands/index.ts';
import { TENANT_ID } from '../tenants/ids.ts';
import { invalidTenant, TENANT_HEADER } from '../tenants/principal.ts';
import { invalidProvenance, provenanceHeader } from './provenance-header.ts';
import { type FeatureTool, MAX_CALLS, MAX_ID_LENGTH, MEMORY_TOOL, notAMemoryInput } from './tool.ts';

/**
 * The examples in the OpenAPI document, as one conversation that a test replays. In this order, each request succeeds
 * on an initially empty memory.
 */
export interface Example {
  summary: string;
  request: object;
  response: ExampleResponse | ExampleResponse[];
}

interface ExampleResponse {
  type?: string;
  tool_use_id?: string;
  content: string;
  is_error: boolean;
}

const successExample = (content: string) => ({ content, is_error: false });

export const examples: Record<string, Example> = {
  view_directory: {
    summary: 'view: look at the memory directory',
    request: { command: 'view', path: '/memories' },
    response: successExample(
      "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:\n4.0K\t/memories",
    ),
  },
  create: {
    summary: 'create: make a new file',
    request: {
      command: 'create',
      path: '/memories/preferences.txt',
      file_text: 'Name: Ada\nFavorite color: blue\n',
    },
    response: successExample('File created successfully at: /memories/preferences.txt'),
  },
  view_file: {
    summary: 'view: read lines of a file',
    request: { command: 'view', path: '/memories/preferences.txt', view_range: [1, 2] },
    response: successExample(
      "Here's the content of /memories/preferences.txt with line numbers:\n     1\tName: Ada\n     2\tFavorite color: blue",
    ),
  },
  str_replace: {
    summary: 'str_replace: replace a text that occurs once',
    request: {
      command: 'str_replace',
      path: '/memories/preferences.txt',
      old_str: 'Favorite color: blue',
      new_str: 'Favorite color: green',
    },
    response: successExample(
      'The memory file has been edited. Here is the snippet showing the change (with line numbers):\n     1\tName: Ada\n     2\tFavorite color: green\n     3\t',
    ),
  },
  insert: {
    summary: 'insert: put lines in after a line',
    request: {
      command: 'insert',
      path: '/memories/preferences.txt',
      insert_line: 2,
      insert_text: 'Favorite food: figs\n',
    },
    response: successExample('The file /memories/preferences.txt has been edited.'),
  },
  rename: {
    summary: 'rename: move a file or directory',
    request: {
      command: 'rename',
      old_path: '/memories/preferences.txt',
      new_path: '/memories/people/ada.txt',
    },
    response: successExample('Successfully renamed /memories/preferences.txt to /memories/people/ada.txt'),
  },
  tool_use_block: {
    summary: 'A whole tool_use block; the result goes into the next message unchanged',
    request: {
      type: 'tool_use',
      id: 'toolu_01C4D5E6F7G8H9I0J1K2L3M4',
      name: 'memory',
      input: { command: 'view', path: '/memories/people/ada.txt' },
    },
    response: {
      type: 'tool_result',
      tool_use_id: 'toolu_01C4D5E6F7G8H9I0J1K2L3M4',
      ...successExample(
        "Here's the content of /memories/people/ada.txt with line numbers:\n     1\tName: Ada\n     2\tFavorite color: green\n     3\tFavorite food: figs\n     4\t",
      ),
    },
  },
  array: {
    summary: 'Several tool_use blocks of one turn, which run in their order',
    request: [
      {
        type: 'tool_use',
        id: 'toolu_01D5E6F7G8H9I0J1K2L3M4N5',
        name: 'memory',
        input: { command: 'create', path: '/memories/people/grace.txt', file_text: 'Name: Grace' },
      },
      {
        type: 'tool_use',
        id: 'toolu_01E6F7G8H9I0J1K2L3M4N5O6',
        name: 'memory',
        input: { command: 'view', path: '/memories/people/grace.txt' },
      },
    ],
    response: [
      {
        type: 'tool_result',
        tool_use_id: 'toolu_01D5E6F7G8H9I0J1K2L3M4N5',
        ...successExample('File created successfully at: /memories/people/grace.txt'),
      },
      {
        type: 'tool_result',
        tool_use_id: 'toolu_01E6F7G8H9I0J1K2L3M4N5O6',
        ...successExample(
          "Here's the content of /memories/people/grace.txt with line numbers:\n     1\tName: Grace",
        ),
      },
    ],
  },
  delete: {
    summary: 'delete: remove a file, or a directory with everything in it',
    request: { command: 'delete', path: '/memories/people' },
    response: successExample('Successfully deleted /memories/people'),
  },
  failure: {
    summary: 'An error that the model can read and correct',
    request: { command: 'view', path: '/memories/missing.txt' },
    response: {
      content: 'The path /memories/missing.txt does not exist. Please provide a valid path.',
      is_error: true,
    },
  },
};

for (const { name, description, schema } of commands) {
  z.globalRegistry.add(schema, { id: schemaName(name), description });
}

const [first, ...rest] = commands.map(({ schema }) => schema);
if (first === undefined) throw new Error('There are no memory commands.');

const commandSchema = z
  .discriminatedUnion('command', [first, ...rest])
  .meta({ id: 'MemoryCommand', description: 'An input for the memory tool, as the model wrote it.' });

/** A `tool_use` block's ID. */
export const toolUseId = z
  .string()
  .min(1)
  .max(MAX_ID_LENGTH)
  .meta({ examples: ['toolu_01C4D5E6F7G8H9I0J1K2L3M4'] });

const toolUseSchema = z
  .object({
    type: z.literal('tool_use'),
    id: toolUseId,
    name: z.literal(MEMORY_TOOL),
    input: commandSchema,
  })
  .meta({ id: 'ToolUse', description: 'A whole `tool_use` block from an assistant message.' });

export const resultFields = {
  content: z.string().meta({ description: 'The text for the model.' }),
  is_error: z.boolean().meta({ description: 'Whether the result reports a failure.' }),
};

const resultSchema = z.object(resultFields).meta({ id: 'MemoryResult' });

const toolResultSchema = z
  .object({ type: z.literal('tool_result'), tool_use_id: z.string(), ...resultFields })
  .meta({ id: 'ToolResult', description: 'A `tool_result` block for the next user message.' });

/** Pattern for an idempotency key: printable ASCII without spaces. */
export const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,255}$/;

const tenantHeader = {
  [TENANT_HEADER.toLowerCase()]: z.string().regex(TENANT_ID).optional().meta({
    description:
      'The tenant: required with a service key, optional with a credential for one tenant, `default` without authentication.',
  }),
};

export const tenantHeaders = z.object(tenantHeader);

const headers = z.object({
  'idempotency-key': z
    .string()
    .regex(IDEMPOTENCY_KEY)
    .optional()
    .meta({
      description:
        'Makes a repeated write apply only once: a retry gets the first result, with ' +
        "`Idempotency-Replayed: true`. A `tool_use` block's ID does the same.",
    }),
  'accept-language': z
    .string()
    .optional()
    .meta({ description: 'The language of the two `view` headers: en, es, it or fr.' }),
  ...provenanceHeader,
  ...tenantHeader,
});

/** Errors about a request's tenant, as examples. */
export const tenantErrors = [
  new ServiceError('tenant_required'),
  invalidTenant(),
  new ServiceError('tenant_mismatch'),
  new ServiceError('tenant_suspended', 'acme'),
  new ServiceError('unknown_tenant', 'acme'),
];

/** Errors from the routes that agents call, as examples. */
export const callErrors = [
  new ServiceError('invalid_json', 'malformed'),
  new ServiceError('invalid_utf8'),
  new ServiceError('invalid_body'),
  tooComplex('values'),
  ...tenantErrors,
  ...agentErrors,
  new ServiceError('unsupported_charset'),
  new ServiceError('unsupported_content_encoding'),
];

const errors = [
  ...callErrors,
  notAMemoryInput('it has no `command`'),
  new ServiceError('invalid_idempotency_key'),
  new ServiceError('idempotency_key_reused'),
  invalidProvenance(),
];

/** Requests with an array are omitted, because their results are always JSON. */
const textExamples = Object.fromEntries(
  Object.entries(examples).flatMap(([name, { summary, response }]) =>
    Array.isArray(response) ? [] : [[name, { summary, content: response.content }]],
  ),
);

/** Schemas by their tools' names, because an ID in the global registry stands for one schema. */
const executeSchemas = new Map<string, FastifySchema>();

/** Returns the schema for `POST /execute`, for the documentation only. The route validates the body itself. */
export function executeSchema(tools: readonly FeatureTool[]): FastifySchema {
  const names = tools.map(({ name }) => name).join();
  const schema = executeSchemas.get(names) ?? createExecuteSchema(tools);
  executeSchemas.set(names, schema);
  return schema;
}

function createExecuteSchema(tools: readonly FeatureTool[]): FastifySchema {
  const otherBlocks = tools.map(({ blockSchema }) => blockSchema);
  const blocks = z
    .array(z.union([toolUseSchema, ...otherBlocks]))
    .min(1)
    .max(MAX_CALLS)
    .meta({
      id: 'ToolUses',
      description:
        'The blocks from one turn. They run in this order; each has a result, and none stops the ' +
        'others.',
    });
  return {
    operationId: 'execute',
    summary: 'Execute a memory tool call',
    description: [
      'Takes an input for the memory tool (`memory_20250818`), or the whole `tool_use` block, and ' +
        'returns the `tool_result` string. Accepts `memory_search` blocks, too.',
      'Errors that the model can correct come back with status 200 and `is_error: true`. Errors that the caller or operator must correct are problems.',
      'With `Accept: text/plain` the body is the content alone, and the header `X-Memory-Is-Error` carries the flag.',
    ].join('\n\n'),
    tags: ['memory'],
    headers,
    // For this union, some client generators create one type with the last member's fields.
    body: z.union([commandSchema, ...otherBlocks, toolUseSchema, blocks]).meta({
      'x-examples': mapExamples(examples, ({ summary, request }) => ({ summary, value: request })),
    }),
    response: {
      200: {
        description:
          'The result: a `ToolResult` for a `tool_use` block, an array of them for an array, else a `MemoryResult`.',
        content: {
          'application/json': {
            // The type with the most fields is first, because generated clients use the first type that fits.
            schema: z.union([toolResultSchema, z.array(toolResultSchema), resultSchema]),
            examples: mapExamples(examples, ({ summary, response }) => ({ summary, value: response })),
          },
          'text/plain': {
            schema: z.string(),
            examples: mapExamples(textExamples, ({ summary, content }) => ({ summary, value: content })),
          },
        },
      },
      ...problemResponses(errors),
    },
  };
}

function mapExamples<From, To>(from: Record<string, From>, each: (example: From) => To): Record<string, To> {
  return Object.fromEntries(Object.entries(from).map(([name, example]) => [name, each(example)]));
}
