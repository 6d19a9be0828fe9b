import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { lint, loadConfig } from '@redocly/openapi-core';
import type { OpenAPIV3_1 } from 'openapi-types';
import { expect, it } from 'vitest';
import { ERROR_CATALOG } from '../../src/core/errors/catalog.ts';
import { type ErrorReason, reasonCode } from '../../src/core/errors/errors.ts';
import {
  CONSOLE_TYPES,
  consoleTypes,
  DOCUMENTS,
  openApiDocument,
  openApiYaml,
} from '../support/openapi-build.ts';
import { describeService, freshTenant } from '../support/test-service.ts';

const file = (name: string) => fileURLToPath(new URL(`../../${name}`, import.meta.url));

const documents = Object.entries(DOCUMENTS);

it.each(documents)(
  'generates from the routes exactly the committed %s (update it with: npm run generate)',
  async (name, build) => {
    expect(readFileSync(file(name), 'utf8')).toBe(await openApiYaml(build));
  },
);

it('generates equal documents for two apps in one process', async () => {
  const [[, build]] = documents as [(typeof documents)[number]];
  const first = await openApiYaml(build);
  expect(await openApiYaml(build)).toBe(first);
});

it('generates exactly the committed console types (update them with: npm run generate)', {
  tags: 'long',
}, async () => {
  expect(readFileSync(file(CONSOLE_TYPES), 'utf8')).toBe(await consoleTypes());
});

it('defines each schema for the OpenAPI documents only once', () => {
  const src = file('src');
  const ids = readdirSync(src, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .flatMap((name) => [...readFileSync(join(src, name), 'utf8').matchAll(/\.meta\(\{\s*id: '(\w+)'/g)])
    .map(([, id]) => id);
  expect(ids.length).toBeGreaterThan(20);
  expect(ids.filter((id, i) => ids.indexOf(id) !== i)).toStrictEqual([]);
});

it.each(documents)('defines each part only once if several operations in %s share it', async (_, build) => {
  const { paths = {}, components = {} } = await openApiDocument({ AUTH: 'keys' }, build);
  const operations = Object.values(paths).flatMap(
    (path) => Object.values(path ?? {}) as OpenAPIV3_1.OperationObject[],
  );
  const errors = operations.flatMap(({ responses = {} }) =>
    Object.entries(responses).flatMap(([status, each]) => (Number(status) < 400 ? [] : [each])),
  );
  const shared = Object.values(components.parameters ?? {}) as OpenAPIV3_1.ParameterObject[];
  const parameters = operations
    .flatMap((operation) => operation.parameters ?? [])
    // Each name has only one component.
    .filter((each) => !('name' in each && shared.some(({ name }) => name === each.name)));
  const inline = [...errors, ...parameters].filter((each) => each !== undefined && !('$ref' in each));
  expect(inline.length).toBeGreaterThan(5);
  const texts = inline.map((each) => JSON.stringify(each));
  expect(texts.filter((text, i) => texts.indexOf(text) !== i)).toStrictEqual([]);
});

it.each(documents)('passes the OpenAPI linter: %s', async (name) => {
  const config = await loadConfig({ configPath: file('redocly.yaml') });
  const problems = await lint({ ref: file(name), config });
  expect(problems.map(({ ruleId, message }) => `${ruleId}: ${message}`)).toStrictEqual([]);
});

it('requires a credential in the OpenAPI documents exactly for the routes that require it', async () => {
  const keys = await openApiDocument({ AUTH: 'keys' });
  expect(keys.paths?.['/execute']?.post?.security ?? keys.security).toStrictEqual([{ bearer: [] }]);
  for (const path of ['/healthz', '/readyz', '/metrics']) {
    expect([path, keys.paths?.[path]?.get?.security]).toStrictEqual([path, []]);
  }
  const none = await openApiDocument({ AUTH: 'none' });
  expect(none.paths?.['/execute']?.post?.security ?? none.security).toStrictEqual([]);
});

it('describes in the OpenAPI documents each error that an operation can return', () => {
  const text = documents.map(([name]) => readFileSync(file(name), 'utf8')).join('');
  const codes = new Set(Object.keys(ERROR_CATALOG).map((reason) => reasonCode(reason as ErrorReason)));
  const missing = [...codes].filter((code) => !text.includes(`code: ${code}\n`));
  // Errors without an operation: invalid URLs, unknown methods, clients that have disconnected, the last event in a
  // stream, and the link for the first key.
  expect(missing).toStrictEqual([
    'invalid_url',
    'method_not_allowed',
    'client_gone',
    'access_changed',
    'has_admin_key',
  ]);
});

interface Media {
  examples: Record<string, { value: unknown }>;
}
interface Document {
  openapi: string;
  paths: Record<
    string,
    {
      post: {
        requestBody: { content: Record<string, Media> };
        responses: Record<string, { content: Record<string, Media> }>;
      };
    }
  >;
  components: {
    schemas: Record<string, { oneOf?: unknown[]; discriminator?: object; description?: string }>;
  };
}

describeService('the OpenAPI document', (service) => {
  it('contains request examples that receive the documented responses', async () => {
    const { paths } = (await service().app.inject('/openapi.json')).json() as Document;
    const execute = paths['/execute']?.post;
    const requests = execute?.requestBody.content['application/json']?.examples ?? {};
    const answers = execute?.responses['200']?.content['application/json']?.examples ?? {};
    const texts = execute?.responses['200']?.content['text/plain']?.examples ?? {};
    const tenant = freshTenant();
    expect(Object.keys(requests)).toHaveLength(10);
    expect(requests.array?.value).toHaveLength(2);
    for (const [name, { value }] of Object.entries(requests)) {
      const answer = await service().execute(value, { tenant });
      expect(answer.body).toStrictEqual(answers[name]?.value);
      expect(Array.isArray(value) ? undefined : answer.content).toBe(texts[name]?.value);
    }
  });

  it('describes each command in a discriminated union', async () => {
    const document = (await service().app.inject('/openapi.json')).json() as Document;
    const { schemas } = document.components;
    expect(document.openapi).toBe('3.1.0');
    expect(schemas.MemoryCommandInput?.oneOf).toHaveLength(6);
    expect(schemas.MemoryCommandInput?.discriminator).toStrictEqual({
      propertyName: 'command',
      mapping: {
        view: '#/components/schemas/ViewInput',
        create: '#/components/schemas/CreateInput',
        str_replace: '#/components/schemas/StrReplaceInput',
        insert: '#/components/schemas/InsertInput',
        delete: '#/components/schemas/DeleteInput',
        rename: '#/components/schemas/RenameInput',
      },
    });
    for (const name of ['View', 'Create', 'StrReplace', 'Insert', 'Delete', 'Rename']) {
      expect(schemas[`${name}Input`]?.description).toMatch(/\w/);
    }
  });

  it('displays the OpenAPI document in a Swagger UI that loads only from this server', async () => {
    const page = await service().app.inject('/docs/');
    expect(page.statusCode).toBe(200);
    const sources = [...page.body.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, url = '']) => url);
    expect(sources.length).toBeGreaterThan(3);
    for (const url of sources) {
      expect(url).not.toMatch(/^(https?:)?\/\//);
      const path = new URL(url, 'http://x/docs/').pathname;
      expect([path, (await service().app.inject(path)).statusCode]).toStrictEqual([path, 200]);
    }
  });
});
