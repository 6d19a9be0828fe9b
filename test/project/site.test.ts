/** The documentation site, which includes new pages and operations automatically. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { API, REPOSITORY } from '../../site/.vitepress/pages.ts';
import { sidebar } from '../../site/.vitepress/sidebar.ts';

interface Item {
  text: string;
  link?: string;
  items?: Item[];
}

const sidebarLinks = (items: Item[]): string[] =>
  items.flatMap(({ link, items: below = [] }) => [
    ...(link === undefined ? [] : [link]),
    ...sidebarLinks(below),
  ]);

describe("the site's sidebar", () => {
  const links = sidebarLinks(sidebar());

  it("lists every page in docs exactly once, even if the sidebar's configuration does not name it", () => {
    const names = readdirSync(join(REPOSITORY, 'docs'), { recursive: true })
      .map(String)
      .filter((name) => name.endsWith('.md'));
    expect(names).toContain('agents.md');
    for (const name of names) {
      const page = `/${name.replace(/\.md$/, '')}`;
      expect(
        links.filter((link) => link === page),
        page,
      ).toHaveLength(1);
    }
  });

  it('lists clients, the changelog, and the API reference', () => {
    expect(links).toEqual(
      expect.arrayContaining([
        '/clients/typescript',
        '/clients/python',
        '/clients/mcp',
        '/changelog',
        '/api/',
      ]),
    );
  });
});

describe("the site's API reference", () => {
  it.each([
    ['openapi.yaml', 0],
    ['admin-openapi.yaml', 1],
  ])('contains every operation in %s', (file, i) => {
    const { paths } = parse(readFileSync(join(REPOSITORY, file), 'utf8'));
    const operations = Object.values<Record<string, { operationId?: string }>>(paths)
      .flatMap((methods) => Object.values(methods))
      .flatMap(({ operationId }) => operationId ?? []);
    const text = API[i]?.pages.map(({ markdown }) => markdown).join('\n') ?? '';
    expect(operations.length).toBeGreaterThan(10);
    for (const operation of operations) expect(text).toContain(`{#${operation}}\n`);
  });

  it('shows a request with its fields, their descriptions, and the errors', () => {
    const page = API[0]?.pages.find(({ link }) => link === '/api/memory')?.markdown;
    expect(page).toContain('## Execute a memory tool call {#execute}\n\n```http\nPOST /execute\n```\n');
    expect(page).toContain(
      '[MemoryCommandInput](/api/schemas#memorycommandinput) or [SearchUseInput](/api/schemas#searchuseinput)',
    );
    expect(page).toContain('| 413 | `body_too_large`: The body exceeds `MAX_BODY_BYTES`');
    const schemas = API[0]?.pages.at(-1)?.markdown;
    expect(schemas).toContain(
      '| `path` | string | The file to create. Missing directories above it are made. |',
    );
  });
});
