/** Maps repository files to site pages. */
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { apiReference } from './api/pages.ts';

export const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url));
/**
 * Directory from which VitePress reads the pages. It is below `site`, because pages resolve packages from
 * `site/node_modules`.
 */
export const STAGE = join(REPOSITORY, 'site/pages');

export const API = [
  apiReference(join(REPOSITORY, 'openapi.yaml'), '/api'),
  apiReference(join(REPOSITORY, 'admin-openapi.yaml'), '/api/admin'),
];

const ADDRESSES: Record<string, string> = {
  'site/index.md': 'index.md',
  'SECURITY.md': 'report-a-vulnerability.md',
  'bench/RESULTS.md': 'benchmarks.md',
};

function pageAddress(file: string): string {
  const own = ADDRESSES[file];
  if (own !== undefined) return own;
  if (file.endsWith('/README.md')) return file.replace(/\/README\.md$/, '.md');
  return file.replace(/^docs\//, '').replace(/^[A-Z]+\.md$/, (name) => name.toLowerCase());
}

const markdownIn = (directory: string, depth: number): string[] =>
  readdirSync(join(REPOSITORY, directory), { withFileTypes: true }).flatMap((entry) => {
    const path = `${directory}/${entry.name}`;
    if (entry.isDirectory() && depth > 0) return markdownIn(path, depth - 1);
    return entry.name.endsWith('.md') ? [path] : [];
  });

const files = [
  'site/index.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'bench/RESULTS.md',
  ...markdownIn('docs', 1).sort(),
  ...['charts', 'clients', 'examples'].flatMap(readmesIn),
];

function readmesIn(directory: string): string[] {
  const entries = readdirSync(join(REPOSITORY, '.')).includes(directory) ? markdownIn(directory, 1) : [];
  return entries.filter((path) => path.endsWith('/README.md'));
}

/** The page's path on the site, by repository file. */
export const PAGES = new Map(files.map((file) => [file, pageAddress(file)]));

/** Returns the repository file for a staged page; undefined for a generated API reference page. */
export function findSource(page: string): string | undefined {
  return [...PAGES].find(([, address]) => address === page)?.[0];
}

/** Returns the Markdown for every page, by its path on the site. */
export function readPages(): Map<string, string> {
  const documents = [...PAGES].map(
    ([file, page]) => [page, readFileSync(join(REPOSITORY, file), 'utf8')] as const,
  );
  const references = API.flatMap(({ pages }) =>
    pages.map(({ link, markdown }) => [`${link.slice(1)}.md`, markdown] as const),
  );
  return new Map([...documents, ...references]);
}

/** Writes all pages, pictures, and OpenAPI documents to the staging directory. */
export function stagePages(): void {
  rmSync(STAGE, { recursive: true, force: true });
  const write = (page: string, text: string) => {
    mkdirSync(dirname(join(STAGE, page)), { recursive: true });
    writeFileSync(join(STAGE, page), text);
  };
  for (const [page, markdown] of readPages()) write(page, markdown);
  cpSync(join(REPOSITORY, 'docs/images'), join(STAGE, 'images'), { recursive: true });
  for (const name of ['openapi.yaml', 'admin-openapi.yaml', 'console/public/icon.svg']) {
    cpSync(join(REPOSITORY, name), join(STAGE, 'public', name.split('/').at(-1) ?? ''));
  }
  // Mermaid is copied instead of bundled, because bundling takes longer than the rest of the build.
  cpSync(join(REPOSITORY, 'site/node_modules/mermaid/dist'), join(STAGE, 'public/mermaid'), {
    recursive: true,
    filter: (path) => /(\/dist|\/chunks|\/mermaid\.esm\.min(\.mjs|\/[^/]*\.mjs)?)$/.test(path),
  });
}
