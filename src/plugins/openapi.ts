import swagger from '@fastify/swagger';
import fp from 'fastify-plugin';
import { createJsonSchemaTransform, createJsonSchemaTransformObject } from 'fastify-type-provider-zod';
import type { OpenAPIV3_1 } from 'openapi-types';
import type { Config } from '../config.ts';
import { commands } from '../memory/commands/index.ts';
import { version } from '../version.ts';

type Document = OpenAPIV3_1.Document;

/** The OpenAPI name of a command's schema: `str_replace` → `StrReplace`. */
export const schemaName = (command: string) =>
  command.replace(/(^|_)([a-z])/g, (_match, _start, letter: string) => letter.toUpperCase());

/** Collects the OpenAPI document from the routes that are registered after it; they need a credential unless they say otherwise. */
export const openapi = fp<{ config: Pick<Config, 'AUTH'> }>(
  async (app, { config }) => {
    await app.register(swagger, {
      openapi: {
        openapi: '3.1.0',
        info: {
          title: 'Memory service',
          version,
          description: "The backend for Claude's memory tool: executes its commands over Postgres.",
          license: { name: 'MIT', identifier: 'MIT' },
        },
        servers: [{ url: '/', description: 'This server' }],
        security: config.AUTH === 'none' ? [] : [{ bearer: [] }],
        components: {
          securitySchemes: {
            bearer: {
              type: 'http',
              scheme: 'bearer',
              description:
                'An API key (`mem_…`), or a JSON Web Token where the service is set up so. None with `AUTH=none`.',
            },
          },
        },
        tags: [
          { name: 'memory', description: 'What agents call.' },
          { name: 'operations', description: 'What operators look at.' },
        ],
      },
      transform: transformKeepingExamples,
      transformObject: (document) => complete(objectTransform(document) as Document) as never,
    });
  },
  { name: 'openapi' },
);

type JsonSchemaConfig = NonNullable<Parameters<typeof createJsonSchemaTransform>[0]['zodToJsonConfig']>;

/** Writes `items: false` as the item type and the length that it means: generators do not read false as a schema. */
const jsonSchemaConfig: JsonSchemaConfig = {
  override: ({ jsonSchema }) => {
    const { prefixItems, items } = jsonSchema;
    if (items !== false || !Array.isArray(prefixItems)) return;
    const [first, ...others] = prefixItems;
    if (first === undefined || others.some((other) => JSON.stringify(other) !== JSON.stringify(first))) {
      throw new Error('A tuple in an API schema has to have items of one type.');
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

/** Says which schema belongs to which `command`, and leaves out the schemas that nothing uses. */
function complete(document: Document): Document {
  addDiscriminator(document);
  return withoutUnusedSchemas(document);
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

/** The transform writes each schema as input and as output; what nothing refers to is left out. */
function withoutUnusedSchemas(document: Document): Document {
  for (;;) {
    const schemas = document.components?.schemas ?? {};
    const text = JSON.stringify(document);
    const unused = Object.keys(schemas).filter((name) => !text.includes(`"#/components/schemas/${name}"`));
    if (unused.length === 0) return document;
    for (const name of unused) delete schemas[name];
  }
}
