import type { FastifySchema } from 'fastify';
import { z } from 'zod';
import { otherTenant, TENANT_HEADER, TENANT_ID, unauthorized } from '../auth/principal.ts';
import { commands } from '../memory/commands/index.ts';
import { tooComplex } from '../plugins/json-limits.ts';
import { schemaName } from '../plugins/openapi.ts';
import { problemResponse } from '../plugins/problem-responses.ts';
import { type Example, examples } from './execute-examples.ts';
import { MAX_CALLS, MAX_ID_LENGTH } from './tool-call.ts';

for (const { name, description, schema } of commands) {
  z.globalRegistry.add(schema, { id: schemaName(name), description });
}

const [first, ...rest] = commands.map(({ schema }) => schema);
if (first === undefined) throw new Error('There are no memory commands.');

const commandSchema = z
  // biome-ignore lint/suspicious/noExplicitAny: zod wants the literal type of each `command`, which a list does not keep
  .discriminatedUnion('command', [first, ...rest] as any)
  .meta({ id: 'MemoryCommand', description: 'An input of the memory tool, as the model wrote it.' });

const toolUseSchema = z
  .object({
    type: z.literal('tool_use'),
    id: z
      .string()
      .min(1)
      .max(MAX_ID_LENGTH)
      .meta({ examples: ['toolu_01C4D5E6F7G8H9I0J1K2L3M4'] }),
    name: z.literal('memory'),
    input: commandSchema,
  })
  .meta({ id: 'ToolUse', description: 'A whole `tool_use` block of an assistant message.' });

const toolUsesSchema = z.array(toolUseSchema).min(1).max(MAX_CALLS).meta({
  id: 'ToolUses',
  description: 'The blocks of one turn: run in this order, each answered, none stops the others.',
});

const resultFields = {
  content: z.string().meta({ description: 'What the model should read.' }),
  is_error: z.boolean().meta({ description: 'Whether the result reports a failure.' }),
};

const resultSchema = z.object(resultFields).meta({ id: 'MemoryResult' });

const toolResultSchema = z
  .object({ type: z.literal('tool_result'), tool_use_id: z.string(), ...resultFields })
  .meta({ id: 'ToolResult', description: 'A `tool_result` block for the next user message.' });

/** Printable ASCII without spaces. */
export const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,255}$/;

const headers = z.object({
  'idempotency-key': z.string().regex(IDEMPOTENCY_KEY).optional().meta({
    description:
      "Makes a write that is sent again happen once: its first answer is given again, with `Idempotency-Replayed: true`. A `tool_use` block's id does the same.",
  }),
  'accept-language': z
    .string()
    .optional()
    .meta({ description: 'The language of the two headers of `view`: en, es, it or fr.', examples: ['es'] }),
  [TENANT_HEADER.toLowerCase()]: z.string().regex(TENANT_ID).optional().meta({
    description:
      'Whose memory it is: required with a service key, not needed with a credential of one tenant, `default` without authentication.',
  }),
});

/** What `POST /execute` takes and answers: documentation only, the route reads the body by itself. */
export const executeSchema: FastifySchema = {
  operationId: 'execute',
  summary: 'Execute a memory tool call',
  description: [
    'Takes an input of the memory tool (`memory_20250818`), or the whole `tool_use` block, and answers the `tool_result` string.',
    'What the model can put right comes back with status 200 and `is_error: true`, what the caller or operator must put right as a problem.',
    'With `Accept: text/plain` the body is the content alone, and the header `X-Memory-Is-Error` carries the flag.',
  ].join('\n\n'),
  tags: ['memory'],
  headers,
  body: z.union([commandSchema, toolUseSchema, toolUsesSchema]).meta({
    'x-examples': mapExamples(({ summary, request }) => ({ summary, value: request })),
  }),
  response: {
    200: {
      description:
        'The result: a `ToolResult` for a `tool_use` block, an array of them for an array, else a `MemoryResult`.',
      content: {
        'application/json': {
          schema: z.union([resultSchema, toolResultSchema, z.array(toolResultSchema)]),
          examples: mapExamples(({ summary, response }) => ({ summary, value: response })),
        },
        'text/plain': {
          schema: z.string(),
          examples: mapExamples(({ summary, response }) => ({ summary, value: response.content })),
        },
      },
    },
    ...problemResponse(400, 'Not JSON, not a memory tool input, or not a tenant id.', {
      invalid_json: 'The body is not valid JSON.',
      invalid_utf8: 'The body is not valid UTF-8, as JSON has to be.',
      json_too_complex: tooComplex('values'),
      not_a_memory_input:
        'The body is not a memory tool input: it has no `command`. Send {"command": "view", "path": "/memories"} or a whole tool_use block.',
      invalid_idempotency_key:
        'Idempotency-Key has to be 1 to 255 printable ASCII characters without spaces.',
      tenant_required: 'This key serves many tenants: say which with the header X-Tenant-Id.',
      invalid_tenant:
        'X-Tenant-Id is not a tenant id: it has to be 1 to 128 of the characters A-Z a-z 0-9 . _ : @ -',
    }),
    ...problemResponse(401, 'No valid credential.', { unauthorized: unauthorized().message }),
    ...problemResponse(403, 'The credential is not for this tenant, or the tenant may not.', {
      tenant_mismatch: otherTenant().message,
      tenant_suspended: 'The tenant acme is suspended.',
      host_not_allowed:
        'Host is not a name of this machine. Without authentication the service answers requests to localhost, 127.0.0.1 and [::1] only: use one of these, set AUTH=keys, or set ALLOW_UNAUTHENTICATED=true if something in front authenticates.',
      unknown_tenant: 'There is no tenant acme. Create it with: memory-service tenants create acme',
    }),
    ...problemResponse(408, 'The body arrives too slowly.', {
      body_timeout: 'The body arrives too slowly. Send it again over a faster connection.',
    }),
    ...problemResponse(413, 'The body is larger than `MAX_BODY_BYTES`.', {
      body_too_large: 'The body is larger than 6356992 bytes, the limit of this service (MAX_BODY_BYTES).',
    }),
    ...problemResponse(415, 'The body is not `application/json` in UTF-8.', {
      unsupported_media_type: 'Send the body as Content-Type: application/json.',
      unsupported_charset: 'JSON is UTF-8: send it so, with charset=utf-8 or without charset.',
      unsupported_content_encoding: 'Content-Encoding is not supported: send the body as it is.',
    }),
    ...problemResponse(422, 'The idempotency key came with another write before.', {
      idempotency_key_reused:
        'The idempotency key (a tool_use block’s id, or Idempotency-Key) came with another write before: use a new one for each call.',
    }),
    ...problemResponse(429, 'Too many requests; `Retry-After` says when to try again.', {
      rate_limited: 'The tenant has used its 6000 requests a minute. Retry-After says when there are more.',
      too_many_at_once: 'The tenant has as many requests in flight as it may. Wait for their answers.',
      too_many_failed_attempts: 'Too many failed attempts from this address.',
    }),
    ...problemResponse(500, 'The service failed.', {
      internal_error: 'The service failed to handle the request.',
    }),
    ...problemResponse(503, 'The database is away or busy; `Retry-After` says when to try again.', {
      database_unavailable: 'The database is not available. Try again shortly.',
      database_busy: 'The database is busy. Try again shortly.',
      overloaded: 'The service is at capacity. Try again shortly.',
      timeout:
        'The request took too long. A write may still have been done: send it again under the same idempotency key.',
    }),
  },
};

function mapExamples<T>(each: (example: Example) => T): Record<string, T> {
  return Object.fromEntries(Object.entries(examples).map(([name, example]) => [name, each(example)]));
}
