/** Which files of the repository are pages of the site, and what their addresses are. */
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { apiReference } from './api/pages.ts';

export const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url));
/** VitePress reads the pages here: a page outside of the folder with its packages would not find them. */
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

function addressOf(file: string): string {
  const own = ADDRESSES[file];
  if (own !== undefined) return own;
  if (file.endsWith('/README.md')) return file.replace(/\/README\.md$/, '.md');
  return file.replace(/^docs\//, '').replace(/^[A-Z]+\.md$/, (name) => name.toLowerCase());
}

const markdownIn = (folder: string, depth: number): string[] =>
  readdirSync(join(REPOSITORY, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
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

function readmesIn(folder: string): string[] {
  const entries = readdirSync(join(REPOSITORY, '.')).includes(folder) ? markdownIn(folder, 1) : [];
  return entries.filter((path) => path.endsWith('/README.md'));
}

/** The page of the site for each file of the repository that has one. */
export const PAGES = new Map(files.map((file) => [file, addressOf(file)]));

/** The file of the repository that a staged page was copied from; undefined for the pages of the API. */
export function sourceOf(page: string): string | undefined {
  return [...PAGES].find(([, address]) => address === page)?.[0];
}

/** Puts all pages, and the pictures and OpenAPI documents beside them, where VitePress reads them. */
export function stagePages(): void {
  rmSync(STAGE, { recursive: true, force: true });
  const write = (page: string, text: string) => {
    mkdirSync(dirname(join(STAGE, page)), { recursive: true });
    writeFileSync(join(STAGE, page), text);
  };
  for (const [file, page] of PAGES) write(page, readFileSync(join(REPOSITORY, file), 'utf8'));
  for (const { pages } of API) for (const { link, markdown } of pages) write(`${link}.md`, markdown);
  cpSync(join(REPOSITORY, 'docs/images'), join(STAGE, 'images'), { recursive: true });
  for (const name of ['openapi.yaml', 'admin-openapi.yaml', 'console/public/icon.svg']) {
    cpSync(join(REPOSITORY, name), join(STAGE, 'public', name.split('/').at(-1) ?? ''));
  }
  // As it comes: to bundle it takes longer than everything else.
  cpSync(join(REPOSITORY, 'site/node_modules/mermaid/dist'), join(STAGE, 'public/mermaid'), {
    recursive: true,
    filter: (path) => /(\/dist|\/chunks|\/mermaid\.esm\.min(\.mjs|\/[^/]*\.mjs)?)$/.test(path),
  });
}
