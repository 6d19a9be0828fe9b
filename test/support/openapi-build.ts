import type { FastifyInstance } from 'fastify';
import type { OpenAPIV3_1 } from 'openapi-types';
import { Document, isScalar, visit } from 'yaml';
import { loadConfig } from '../../src/core/config.ts';
import type { Database } from '../../src/core/database/database.ts';
import { BatchLimits } from '../../src/core/database/running-statements.ts';
import { buildAdminApp } from '../../src/service/admin-app.ts';
import { buildApp } from '../../src/service/agents-app.ts';

/** Builders for the two documents at the root of the repository. */
export const DOCUMENTS = { 'openapi.yaml': buildApp, 'admin-openapi.yaml': buildAdminApp } as const;

/** Path to the console's generated types for the admin API. */
export const CONSOLE_TYPES = 'console/src/api/schema.ts';

const throwUnused = () => {
  throw new Error('The documents are made without a database.');
};

/** Replaces the database, which no document depends on. */
const noDatabase: Database = {
  kind: 'postgres',
  batches: new BatchLimits(1, 1),
  query: throwUnused,
  queryBatch: throwUnused,
  transaction: throwUnused,
  withJobLock: throwUnused,
  migrate: throwUnused,
  pool: throwUnused,
  close: throwUnused,
};

type Build = (typeof DOCUMENTS)[keyof typeof DOCUMENTS];

/**
 * Returns the OpenAPI document for a listener that requires a credential, as YAML with references and name lists on one
 * line.
 */
export async function openApiYaml(build: Build = buildApp): Promise<string> {
  const document = new Document(await openApiDocument({ AUTH: 'keys' }, build), {
    aliasDuplicateObjects: false,
  });
  visit(document, {
    Map: (_, map) => {
      if (map.items.length === 1 && map.has('$ref')) map.flow = true;
    },
    Seq: (_, list) => {
      if (list.items.every(isScalar)) list.flow = true;
    },
  });
  return document.toString({ lineWidth: 150 });
}

export async function consoleTypes(): Promise<string> {
  // The import loads a TypeScript compiler.
  const { generateTypes } = await import('../../console/generate-types.ts');
  return generateTypes(await openApiDocument({ AUTH: 'keys' }, buildAdminApp));
}

/** Returns the OpenAPI document for a listener with these settings. */
export function openApiDocument(
  env: Record<string, string>,
  build: Build = buildApp,
): Promise<OpenAPIV3_1.Document> {
  return withApp(build, env, (app) => app.swagger() as OpenAPIV3_1.Document);
}

async function withApp<T>(
  build: Build,
  env: Record<string, string>,
  use: (app: FastifyInstance) => T,
): Promise<T> {
  const config = loadConfig({
    DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none',
    LOG_LEVEL: 'silent',
    ...env,
  });
  const app = await build({ config, database: noDatabase });
  await app.ready();
  const result = use(app);
  await app.close();
  return result;
}
