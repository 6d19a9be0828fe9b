import swagger from '@fastify/swagger';
import fp from 'fastify-plugin';
import { createJsonSchemaTransform, createJsonSchemaTransformObject } from 'fastify-type-provider-zod';
import type { OpenAPIV3_1 } from 'openapi-types';
import type { Config } from '../config.ts';
import { version } from '../lib/service-version.ts';
import { commands } from '../memory/commands/index.ts';
import { TITLES } from './problem-details.ts';

type Operation = OpenAPIV3_1.OperationObject;
type Parameter = OpenAPIV3_1.ParameterObject;
type Response = OpenAPIV3_1.ResponseObject;
type Example = { value: { code: string } };

/**
 * Moves parameters and errors that several operations share to the document's components, and replaces them by
 * references.
 */
export function shareComponents(document: OpenAPIV3_1.Document): void {
  const operations = Object.values(document.paths ?? {}).flatMap(
    (path) => Object.values(path ?? {}) as Operation[],
  );
  const shared = { responses: shareErrors(operations), parameters: shareParameters(operations) };
  for (const [kind, components] of Object.entries(shared)) {
    if (Object.keys(components).length > 0)
      document.components = { ...document.components, [kind]: components };
  }
}

/** If different parameters have the same name, shares the parameter that most operations use. */
function shareParameters(operations: Operation[]): Record<string, Parameter> {
  const all = operations.flatMap(({ parameters = [] }) => parameters as Parameter[]);
  const shared: Record<string, Parameter> = {};
  const references = new Map<string, string>();
  for (const group of groupBy(all, (each) => JSON.stringify(each)).sort((a, b) => b.length - a.length)) {
    const [parameter] = group;
    const name = pascalCase(parameter.name);
    if (group.length === 1 || name in shared) continue;
    shared[name] = parameter;
    references.set(JSON.stringify(parameter), `#/components/parameters/${name}`);
  }
  for (const operation of operations) {
    if (operation.parameters === undefined) continue;
    operation.parameters = operation.parameters.map((each) => {
      const $ref = references.get(JSON.stringify(each));
      return $ref === undefined ? each : { $ref };
    });
  }
  return shared;
}

/**
 * Merges the responses with the same status and the same errors into one component, with all their descriptions and
 * examples.
 */
function shareErrors(operations: Operation[]): Record<string, Response> {
  const all = operations.flatMap(({ responses = {} }) =>
    Object.entries(responses as Record<string, Response>).flatMap(([status, response]) => {
      const [[type, media] = ['', {}]] = Object.entries(response.content ?? {});
      const lines = response.description.split('\n').map((line) => line.replace(/^- /, ''));
      const codes = [...new Set(lines.flatMap((line) => /^`(\w+)`: /.exec(line)?.[1] ?? []))];
      return Number(status) < 400 ? [] : [{ responses, status, response, type, media, lines, codes }];
    }),
  );
  const groups = groupBy(all, ({ status, type, codes }) => `${status} ${type} ${codes.toSorted()}`);
  const shared: Record<string, Response> = {};
  const namedCodes = new Map<string, string[]>();
  // The responses with the fewest errors get the simplest names.
  for (const group of groups.sort((a, b) => a[0].codes.length - b[0].codes.length)) {
    const [{ status, response, type, media, codes }] = group;
    if (group.length === 1) continue;
    const name = responseName(codes, `${bodyKind(media)}${TITLES[Number(status)] ?? status}`, namedCodes);
    namedCodes.set(name, codes);
    const lines = [...new Set(group.flatMap((each) => each.lines))];
    const examples = group.flatMap((each) => Object.values(each.media.examples ?? {}) as Example[]);
    shared[name] = {
      ...response,
      description: lines.length === 1 ? lines.join() : lines.map((line) => `- ${line}`).join('\n'),
      content: { [type]: examples.length === 0 ? media : { ...media, examples: nameExamples(examples) } },
    };
    for (const { responses } of group) responses[status] = { $ref: `#/components/responses/${name}` };
  }
  return shared;
}

/**
 * Returns the name prefix for errors with this schema: empty for `Problem`, and `MemoryStore` for `MemoryStoreError`.
 * The prefix separates different APIs' errors.
 */
function bodyKind({ schema = {} }: OpenAPIV3_1.MediaTypeObject): string {
  return '$ref' in schema ? schema.$ref.replace(/^.*\//, '').replace(/(Problem|Error)$/, '') : '';
}

/**
 * Returns the first free name: the single error, then the status, then the status with the first error that the
 * response with that name lacks.
 */
function responseName(codes: string[], title: string, taken: Map<string, string[]>): string {
  const status = title.replaceAll(/[^A-Za-z]/g, '');
  const added = codes.filter((code) => !taken.get(status)?.includes(code));
  const names = [status, ...added.map((code) => `${status}Or${pascalCase(code)}`)];
  const name = [...(codes.length === 1 ? codes.map(pascalCase) : []), ...names].find(
    (each) => !taken.has(each),
  );
  if (name === undefined) throw new Error(`No name is left for the response with the errors ${codes}.`);
  return name;
}

/** Names each distinct example by its code, with a number if the code repeats: `rejected`, `rejected_2`. */
function nameExamples(examples: Example[]): Record<string, Example> {
  const byName: Record<string, Example> = {};
  for (const [example] of groupBy(examples, (each) => JSON.stringify(each))) {
    const { code } = example.value;
    const before = Object.values(byName).filter(({ value }) => value.code === code).length;
    byName[before === 0 ? code : `${code}_${before + 1}`] = example;
  }
  return byName;
}

function groupBy<T>(items: T[], key: (item: T) => string): [T, ...T[]][] {
  const groups = new Map<string, [T, ...T[]]>();
  for (const item of items) {
    const group = groups.get(key(item));
    if (group) group.push(item);
    else groups.set(key(item), [item]);
  }
  return [...groups.values()];
}

/** Converts a name to Pascal case: `if-none-match` → `IfNoneMatch`, `created_at[gte]` → `CreatedAtGte`. */
function pascalCase(name: string): string {
  return name.replaceAll(/(?:^|[^A-Za-z0-9]+)([a-z]?)/g, (_, letter: string) => letter.toUpperCase());
}

type Document = OpenAPIV3_1.Document;

/** Returns a command schema's OpenAPI name: `str_replace` → `StrReplace`. */
export const schemaName = (command: string) =>
  command.replace(/(^|_)([a-z])/g, (_match, _start, letter: string) => letter.toUpperCase());

export interface ApiDescription {
  title: string;
  description: string;
  /** Description for the credential to send in `Authorization: Bearer`. */
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
    { name: 'sharing', description: 'Memories that tenants share by invitation.' },
    { name: 'memory stores', description: "The same memory in the shape of Anthropic's Memory Stores API." },
    { name: 'operations', description: 'For operators.' },
  ],
};

/**
 * Collects the OpenAPI document from the routes registered after this plugin. Routes need a credential unless their
 * schema declares otherwise.
 *
 * @param options.firstPaths paths at the start of the document; the others follow in registration order
 */
export const openapi = fp<{
  config: Pick<Config, 'AUTH'>;
  api?: ApiDescription;
  firstPaths?: readonly string[];
}>(
  async (app, { config, api = MEMORY_API, firstPaths = [] }) => {
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
      transformObject: (document) => complete(objectTransform(document) as Document, firstPaths) as never,
    });
  },
  { name: 'openapi' },
);

type JsonSchemaConfig = NonNullable<Parameters<typeof createJsonSchemaTransform>[0]['zodToJsonConfig']>;

/**
 * Replaces `items: false` with the equivalent item type and length, because code generators reject `false` as a schema.
 */
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

/** The transform keeps only the schemas for a response's media types. This wrapper also keeps their examples. */
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

/**
 * Sorts the paths, maps each `command` to its schema, removes unused schemas, moves repeated parts to components, and
 * sorts the components.
 */
function complete(document: Document, firstPaths: readonly string[]): Document {
  const rank = (path: string) => (firstPaths.includes(path) ? firstPaths.indexOf(path) : firstPaths.length);
  const paths = Object.entries(document.paths ?? {}).sort(([a], [b]) => rank(a) - rank(b));
  document.paths = Object.fromEntries(paths);
  addDiscriminator(document);
  withoutUnusedSchemas(document);
  shareComponents(document);
  const kinds = Object.entries(document.components ?? {}) as [string, object][];
  document.components = Object.fromEntries(
    kinds.map(([kind, components]) => [kind, sortComponents(components)]),
  );
  return document;
}

function sortComponents(components: object): object {
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

/** Removes the schemas without references. The transform writes each schema twice, for input and for output. */
function withoutUnusedSchemas(document: Document): Document {
  for (;;) {
    const schemas = document.components?.schemas ?? {};
    const text = JSON.stringify(document);
    const unused = Object.keys(schemas).filter((name) => !text.includes(`"#/components/schemas/${name}"`));
    if (unused.length === 0) return document;
    for (const name of unused) delete schemas[name];
  }
}
