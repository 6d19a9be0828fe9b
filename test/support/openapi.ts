import { buildApp } from '../../src/app.ts';
import { loadConfig } from '../../src/config.ts';
import { openDatabase } from '../../src/postgres/database.ts';

/** The OpenAPI document of the service as YAML. Connects to no database. */
export async function openApiYaml(): Promise<string> {
  const config = loadConfig({
    DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none',
    AUTH: 'none',
    LOG_LEVEL: 'silent',
  });
  const database = await openDatabase(config);
  const app = await buildApp({ config, database });
  await app.ready();
  const yaml = app.swagger({ yaml: true });
  await app.close();
  await database.close();
  return yaml;
}
