import type { FastifyInstance } from 'fastify';
import type { OpenAPIV3_1 } from 'openapi-types';
import { buildAdminApp } from '../../src/admin/app.ts';
import { buildApp } from '../../src/app.ts';
import { loadConfig } from '../../src/config.ts';
import type { Database } from '../../src/postgres/database.ts';

/** What makes each of the documents at the root of the repository. */
export const DOCUMENTS = { 'openapi.yaml': buildApp, 'admin-openapi.yaml': buildAdminApp } as const;

const refuse = () => {
  throw new Error('The documents are made without a database.');
};

/** In place of a database, which no document depends on. */
const noDatabase: Database = {
  kind: 'postgres',
  batchSize: 1,
  query: refuse,
  queryBatch: refuse,
  transaction: refuse,
  withJobLock: refuse,
  migrate: refuse,
  pool: refuse,
  close: refuse,
};

type Build = (typeof DOCUMENTS)[keyof typeof DOCUMENTS];

/** Returns the OpenAPI document of a listener that requires a credential, as YAML. */
export function openApiYaml(build: Build = buildApp): Promise<string> {
  return withApp(build, { AUTH: 'keys' }, (app) => app.swagger({ yaml: true }));
}

/** Returns the OpenAPI document of a listener with these settings. */
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
