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
  const schemas = findUsed(components?.schemas ?? {});
  return HEADER + flatten(astToString(await openapiTS({ openapi, info, components: { schemas } })));
}

function findUsed<Schema>(schemas: Record<string, Schema>): Record<string, Schema> {
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

/** Exports each schema under its name, without the objects around it and the comments, which are in the document. */
const flatten = (types: string) =>
  (types.match(/(?<=^ {4}schemas: \{\n).*?(?=^ {4}\};)/ms)?.[0] ?? '')
    .replaceAll(/^ *\/\*\*.*?\*\/\n/gms, '')
    .replaceAll(/components\["schemas"\]\["(\w+)"\]/g, '$1')
    .replaceAll(/^ {8}/gm, '')
    .replaceAll(/^(\w+): /gm, 'export type $1 = ');
