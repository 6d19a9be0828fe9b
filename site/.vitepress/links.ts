/**
 * Converts relative links, which the documents use for GitHub. A link to a page becomes a link within the site. A link
 * to another file leads to the release in the repository, or becomes plain text if REPOSITORY_URL is not set.
 */
import { existsSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import type { MarkdownRenderer } from 'vitepress';
import { findSource, PAGES, REPOSITORY, STAGE } from './pages.ts';

type Token = ReturnType<MarkdownRenderer['parse']>[number];

export function repositoryLinks(md: MarkdownRenderer, blobUrl: string | undefined): void {
  md.core.ruler.push('repository-links', ({ tokens, env }) => {
    // A container's title is rendered separately, without a path.
    const source = env.path && findSource(relative(STAGE, env.path));
    if (source === undefined) return;
    for (const { children } of tokens) {
      for (const token of children ?? []) {
        if (token.type === 'link_open') rewrite(token, children ?? [], source, blobUrl);
      }
    }
  });
}

function rewrite(token: Token, siblings: Token[], source: string, blobUrl: string | undefined): void {
  const href = token.attrGet('href') ?? '';
  if (/^([a-z]+:|#|\/)/.test(href)) return;
  const [path = '', hash] = decodeURI(href).split('#');
  const target = join(REPOSITORY, dirname(source), path);
  if (!existsSync(target)) throw new Error(`${source} links to ${href}, which is not in the repository.`);
  const file = relative(REPOSITORY, target);
  const suffix = hash === undefined ? '' : `#${hash}`;
  // The site's front page replaces the README, so it lacks the README's headings.
  const page = file === 'README.md' && hash !== undefined ? undefined : findPage(file);
  if (page !== undefined) token.attrSet('href', `/${page}${suffix}`);
  else if (blobUrl !== undefined) token.attrSet('href', `${blobUrl}/${file}${suffix}`);
  else unlink(token, siblings);
}

function findPage(file: string): string | undefined {
  if (file === 'README.md') return '';
  const page = PAGES.get(file) ?? PAGES.get(`${file}/README.md`);
  return page?.replace(/\.md$/, '') ?? { 'openapi.yaml': 'api/', 'admin-openapi.yaml': 'api/admin/' }[file];
}

/** Replaces a link with its text. Links do not nest, so the next closing token belongs to this link. */
function unlink(start: Token, siblings: Token[]): void {
  const end = siblings.slice(siblings.indexOf(start)).find(({ type }) => type === 'link_close');
  Object.assign(start, { type: 'span_open', tag: 'span', attrs: null });
  if (end !== undefined) Object.assign(end, { type: 'span_close', tag: 'span' });
}
