/** Up-to-date generated pages of docs. After a change, run `npm run generate`. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import * as client from '../../clients/typescript/src/definitions.ts';
import { commandReference, errorReference } from '../../scripts/reference.ts';
import { memoryTool, searchTool, TOOL_DEFINITIONS } from '../../scripts/tool-definitions.ts';
import { ERROR_CATALOG, type ErrorDefinition } from '../../src/core/errors/catalog.ts';
import * as mcp from '../../src/features/mcp/definitions.ts';

const read = (name: string) => readFileSync(join(import.meta.dirname, '../..', name), 'utf8');

it('docs/cli.md lists the commands of the program', () => {
  const reference = commandReference();
  expect(reference).toContain('\n## tenants create\n');
  expect(read('docs/cli.md')).toBe(reference);
});

it('docs/errors.md lists the error codes of both APIs', () => {
  const reference = errorReference([read('openapi.yaml'), read('admin-openapi.yaml')]);
  const codes = Object.entries<ErrorDefinition<never[]>>(ERROR_CATALOG).map(
    ([reason, { code = reason }]) => code,
  );
  // The code for a disconnected client is only logged. The console's link for the first key is in no document.
  const responses = codes.filter((code) => code !== 'client_gone' && code !== 'has_admin_key');
  expect(responses.filter((code) => !reference.includes(`\n| \`${code}\` | `))).toStrictEqual([]);
  expect(reference).toMatch(/^\| `too_many_at_once` \| 429 \| \S/m);
  expect(read('docs/errors.md')).toBe(reference);
});

it('defines the tools of MCP and of the clients as the commands and the search do', () => {
  const definitions = { MEMORY_DEFINITION: memoryTool(), SEARCH_DEFINITION: searchTool() };
  expect({ ...mcp }).toStrictEqual(definitions);
  expect({ ...client }).toStrictEqual(definitions);
  const python = 'clients/python/src/memory_service_client/_definitions.py';
  expect(read(python)).toBe(TOOL_DEFINITIONS[python]?.());
});
