/** Writes the OpenAPI documents from the routes: `npm run openapi`. A test fails while a file is not what this writes. */
import { writeFileSync } from 'node:fs';
import { DOCUMENTS, openApiYaml } from '../test/support/openapi.ts';

for (const [name, build] of Object.entries(DOCUMENTS)) {
  writeFileSync(new URL(`../${name}`, import.meta.url), await openApiYaml(build));
}
