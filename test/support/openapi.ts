import type { FastifyInstance } from 'fastify';
import type { OpenAPIV3_1 } from 'openapi-types';
import { buildApp } from '../../src/app.ts';
import { loadConfig } from '../../src/config.ts';
import { openDatabase } from '../../src/postgres/database.ts';

/** Returns the OpenAPI document of a service that requires a credential, as YAML. Does not connect to a database. */
export function openApiYaml(): Promise<string> {
  return withApp({ AUTH: 'keys' }, (app) => app.swagger({ yaml: true }));
}

/** Returns the OpenAPI document of a service with these settings. Does not connect to a database. */
export function openApiDocument(env: Record<string, string>): Promise<OpenAPIV3_1.Document> {
  return withApp(env, (app) => app.swagger() as OpenAPIV3_1.Document);
}

async function withApp<T>(env: Record<string, string>, use: (app: FastifyInstance) => T): Promise<T> {
  const config = loadConfig({
    DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none',
    LOG_LEVEL: 'silent',
    ...env,
  });
  const database = await openDatabase(config);
  const app = await buildApp({ config, database });
  await app.ready();
  const result = use(app);
  await app.close();
  await database.close();
  return result;
}
