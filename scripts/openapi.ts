/** Writes openapi.yaml from the routes: `npm run openapi`. A test fails while the file is not what this writes. */
import { writeFileSync } from 'node:fs';
import { openApiYaml } from '../test/support/openapi.ts';

writeFileSync(new URL('../openapi.yaml', import.meta.url), await openApiYaml());
