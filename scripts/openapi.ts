/** Writes the OpenAPI documents from the routes, and the console's types: `npm run openapi`. A test fails while a file is not what this writes. */
import { writeFileSync } from 'node:fs';
import { CONSOLE_TYPES, consoleTypes, DOCUMENTS, openApiYaml } from '../test/support/openapi.ts';

const write = (name: string, text: string) => writeFileSync(new URL(`../${name}`, import.meta.url), text);

for (const [name, build] of Object.entries(DOCUMENTS)) write(name, await openApiYaml(build));
write(CONSOLE_TYPES, await consoleTypes());
