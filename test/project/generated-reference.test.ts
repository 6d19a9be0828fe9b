/** Up-to-date generated pages in docs. After a change, run `npm run generate`. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import * as client from '../../clients/typescript/src/definitions.ts';
import { commandReference, errorReference } from '../../scripts/reference.ts';
import { memoryTool, searchTool, sharingTool, TOOL_DEFINITIONS } from '../../scripts/tool-definitions.ts';
import { ERROR_CATALOG, type ErrorDefinition } from '../../src/core/errors/catalog.ts';
import * as mcp from '../../src/features/mcp/definitions.ts';

const read = (name: string) => readFileSync(join(import.meta.dirname, '../..', name), 'utf8');

it("docs/cli.md lists the program's commands", () => {
  const reference = commandReference();
  expect(reference).toContain('\n## tenants create\n');
  expect(read('docs/cli.md')).toBe(reference);
});

it('docs/errors.md has a section for each error code', () => {
  const page = read('docs/errors.md');
  expect(page).toBe(errorReference());
  const codes = Object.entries<ErrorDefinition<never[]>>(ERROR_CATALOG).map(
    ([reason, { code = reason }]) => code,
  );
  const missing = codes.filter(
    (code) => !page.includes(`\n### \`${code}\`\n`) || !page.includes(`\n| [\`${code}\`](#${code}) | `),
  );
  expect(missing).toStrictEqual([]);
  expect(page).toMatch(/^\| \[`too_many_at_once`\]\(#too_many_at_once\) \| 429 \| \S/m);
});

it('docs/errors.md links to existing headings on other pages', () => {
  const links = [...read('docs/errors.md').matchAll(/\]\(([\w-]+\.md)#([\w-]+)\)/g)];
  const broken = links.filter(([, file = '', anchor]) => {
    const headings = [...read(`docs/${file}`).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\w\- ]/g, '')
        .replaceAll(' ', '-'),
    );
    return !headings.includes(anchor ?? '');
  });
  expect(links.length).toBeGreaterThan(3);
  expect(broken.map(([link]) => link)).toStrictEqual([]);
});

it('docs link only to existing sections in docs/errors.md', () => {
  const pages = readdirSync(join(import.meta.dirname, '../../docs')).filter((name) => name.endsWith('.md'));
  const links = pages.flatMap((name) =>
    [...read(`docs/${name}`).matchAll(/errors\.md#(\w+)/g)].map(([, code = '']) => ({ name, code })),
  );
  const sections = read('docs/errors.md');
  expect(links.length).toBeGreaterThan(5);
  expect(links.filter(({ code }) => !sections.includes(`\n### \`${code}\`\n`))).toStrictEqual([]);
});

it('generates the tool definitions for MCP and the clients from the commands and the search', () => {
  const definitions = { MEMORY_DEFINITION: memoryTool(), SEARCH_DEFINITION: searchTool() };
  expect({ ...mcp }).toStrictEqual({ ...definitions, SHARING_DEFINITION: sharingTool() });
  expect({ ...client }).toStrictEqual(definitions);
  const python = 'clients/python/src/memory_service_client/_definitions.py';
  expect(read(python)).toBe(TOOL_DEFINITIONS[python]?.());
});
