import swagger from '@fastify/swagger';
import fp from 'fastify-plugin';
import { createJsonSchemaTransform, createJsonSchemaTransformObject } from 'fastify-type-provider-zod';
import type { OpenAPIV3_1 } from 'openapi-types';
import type { Config } from '../config.ts';
import { commands } from '../memory/commands/index.ts';
import { version } from '../version.ts';
import { shareComponents } from './openapi-components.ts';

type Document = OpenAPIV3_1.Document;

/** The OpenAPI name of a command's schema: `str_replace` → `StrReplace`. */
export const schemaName = (command: string) =>
  command.replace(/(^|_)([a-z])/g, (_match, _start, letter: string) => letter.toUpperCase());

/** What an API's document says of the API as a whole. */
export interface ApiDescription {
  title: string;
  description: string;
  /** Which credential goes into `Authorization: Bearer`. */
  credential: string;
  tags: { name: string; description: string }[];
}

const MEMORY_API: ApiDescription = {
  title: 'Memory service',
  description: "The backend for Claude's memory tool: executes its commands over Postgres.",
  credential:
    'An API key (`msk_…`), or a JSON Web Token if the service is configured for it. None with `AUTH=none`.',
  tags: [
    { name: 'memory', description: 'For agents.' },
    { name: 'memory stores', description: "The same memory in the shape of Anthropic's Memory Stores API." },
    { name: 'operations', description: 'For operators.' },
  ],
};

/** Collects the OpenAPI document from the routes that are registered after it; they need a credential unless they say otherwise. */
export const openapi = fp<{ config: Pick<Config, 'AUTH'>; api?: ApiDescription }>(
  async (app, { config, api = MEMORY_API }) => {
    const { title, description, credential, tags } = api;
    await app.register(swagger, {
      openapi: {
        openapi: '3.1.0',
        info: {
          title,
          version,
          description,
          license: { name: 'MIT', identifier: 'MIT' },
        },
        servers: [{ url: '/', description: 'This server' }],
        security: config.AUTH === 'none' ? [] : [{ bearer: [] }],
        components: {
          securitySchemes: {
            bearer: { type: 'http', scheme: 'bearer', description: credential },
          },
        },
        tags,
      },
      transform: transformKeepingExamples,
      transformObject: (document) => complete(objectTransform(document) as Document) as never,
    });
  },
  { name: 'openapi' },
);

type JsonSchemaConfig = NonNullable<Parameters<typeof createJsonSchemaTransform>[0]['zodToJsonConfig']>;

/** Replaces `items: false` by the equivalent item type and length, because generators do not accept `false` as a schema. */
const jsonSchemaConfig: JsonSchemaConfig = {
  override: ({ jsonSchema }) => {
    const { prefixItems, items } = jsonSchema;
    if (items !== false || !Array.isArray(prefixItems)) return;
    const [first, ...others] = prefixItems;
    if (first === undefined || others.some((other) => JSON.stringify(other) !== JSON.stringify(first))) {
      throw new Error('A tuple in an API schema must have items of one type.');
    }
    jsonSchema.items = first;
    delete jsonSchema.prefixItems;
  },
};

const schemaTransform = createJsonSchemaTransform({ zodToJsonConfig: jsonSchemaConfig });
const objectTransform = createJsonSchemaTransformObject({ zodToJsonConfig: jsonSchemaConfig });

type Responses = Record<string, { content?: Record<string, { examples?: object }> }>;

/** The transform keeps only the schemas of a response's media types; this keeps their examples too. */
const transformKeepingExamples: typeof schemaTransform = (document) => {
  const transformed = schemaTransform(document);
  const from = (document.schema?.response ?? {}) as Responses;
  const to = (transformed.schema?.response ?? {}) as Responses;
  for (const [status, { content = {} }] of Object.entries(from)) {
    for (const [type, { examples }] of Object.entries(content)) {
      const media = to[status]?.content?.[type];
      if (media && examples) media.examples = examples;
    }
  }
  return transformed;
};

/** Maps each `command` to its schema, removes unused schemas, shares what is repeated, and sorts the components. */
function complete(document: Document): Document {
  addDiscriminator(document);
  withoutUnusedSchemas(document);
  shareComponents(document);
  const kinds = Object.entries(document.components ?? {}) as [string, object][];
  document.components = Object.fromEntries(kinds.map(([kind, components]) => [kind, sorted(components)]));
  return document;
}

function sorted(components: object): object {
  return Object.fromEntries(Object.entries(components).sort(([a], [b]) => (a < b ? -1 : 1)));
}

function addDiscriminator(document: Document): void {
  const union = document.components?.schemas?.MemoryCommandInput;
  if (!union) return;
  union.discriminator = {
    propertyName: 'command',
    mapping: Object.fromEntries(
      commands.map(({ name }) => [name, `#/components/schemas/${schemaName(name)}Input`]),
    ),
  };
}

/** The transform writes each schema as input and as output. Removes those that nothing refers to. */
function withoutUnusedSchemas(document: Document): Document {
  for (;;) {
    const schemas = document.components?.schemas ?? {};
    const text = JSON.stringify(document);
    const unused = Object.keys(schemas).filter((name) => !text.includes(`"#/components/schemas/${name}"`));
    if (unused.length === 0) return document;
    for (const name of unused) delete schemas[name];
  }
}
