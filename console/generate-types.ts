import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import openapiTS, { astToString, type OpenAPI3 } from 'openapi-typescript';

const HEADER =
  '// The schemas of admin-openapi.yaml that the console imports, by openapi-typescript. Update this file with: npm run generate\n\n';
const SOURCES = join(import.meta.dirname, 'src');
const IMPORT = /\btype \{([^}]*)\} from '[^']*\/schema\.ts'/g;
const REFERENCE = /"#\/components\/schemas\/(\w+)"/g;

/** Renders the schemas of an OpenAPI document that the console imports, and the schemas that they use. */
export async function generateTypes(document: object): Promise<string> {
  const { openapi, info, components } = document as OpenAPI3;
  const used = findUsed(components?.schemas ?? {});
  // Examples are in the document. The console's types only take space with them.
  const schemas = JSON.parse(
    JSON.stringify(used, (key, value) => (/^examples?$/.test(key) ? undefined : value)),
  );
  const options = { rootTypes: true, rootTypesNoSchemaPrefix: true };
  return HEADER + shorten(astToString(await openapiTS({ openapi, info, components: { schemas } }, options)));
}

function findUsed(schemas: Record<string, unknown>): Record<string, unknown> {
  const used = new Set(importedNames());
  // A name that is added is visited in this loop.
  for (const name of used)
    for (const [, other = ''] of JSON.stringify(schemas[name] ?? {}).matchAll(REFERENCE)) used.add(other);
  return Object.fromEntries(Object.entries(schemas).filter(([name]) => used.has(name)));
}

const importedNames = () =>
  readdirSync(SOURCES, { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.tsx?$/.test(file))
    .flatMap((file) => [...readFileSync(join(SOURCES, file), 'utf8').matchAll(IMPORT)])
    .flatMap(([, names = '']) => names.split(',').map((name) => name.trim().replace(/ as .*/, '')));

/** Removes the tags that repeat the type, and writes a comment of one line on one line. */
const shorten = (types: string) =>
  types
    .replaceAll(/^ *\* @(constant|enum \{\w+\})\n/gm, '')
    .replaceAll(/^ *\/\*\* @(constant|enum \{\w+\}) \*\/\n/gm, '')
    .replaceAll(/\/\*\*\n *\* (.*)\n *\*\//g, '/** $1 */');
