import openapiTS, { astToString, type OpenAPI3 } from 'openapi-typescript';

const HEADER =
  '// The schemas of admin-openapi.yaml, by openapi-typescript. Update this file with: npm run generate\n\n';

/** Renders the schemas of an OpenAPI document as TypeScript. */
export async function generateTypes(document: object): Promise<string> {
  const { openapi, info, components } = document as OpenAPI3;
  const schemas = { openapi, info, components: { schemas: components?.schemas ?? {} } };
  return HEADER + astToString(await openapiTS(schemas, { rootTypes: true, rootTypesNoSchemaPrefix: true }));
}
