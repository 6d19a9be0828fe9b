import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Parser } from 'htmlparser2';
import { splitIntoSections } from './headings.ts';

interface Page {
  ids: Set<string>;
  links: string[];
  /** URLs that the browser loads with the page. */
  assets: string[];
}

function read(html: string): Page {
  const page: Page = { ids: new Set(), links: [], assets: [] };
  const parser = new Parser({
    onopentag(name, { id, href, src }) {
      if (id !== undefined) page.ids.add(id);
      if (name === 'a' && href !== undefined) page.links.push(href);
      if (name === 'link' && href !== undefined) page.assets.push(href);
      if (src !== undefined) page.assets.push(src);
    },
  });
  parser.end(html);
  return page;
}

/**
 * Checks the built site. Throws an error if a link or a search result has no target page or heading, or if a page loads
 * a missing file or a file from another server. VitePress itself does not check headings.
 *
 * @param root directory for the built site, which is served at `base`
 * @param sources Markdown for all pages, by path
 */
export function checkSite(root: string, base: string, sources: ReadonlyMap<string, string>): void {
  const names = readdirSync(root, { recursive: true }).map(String);
  const pages = new Map(
    names
      .filter((name) => name.endsWith('.html'))
      .map((name) => [name, read(readFileSync(join(root, name), 'utf8'))]),
  );
  const problems: string[] = [];
  for (const [name, { links, assets }] of pages) {
    const address = new URL(name.replace(/(index)?\.html$/, ''), `https://site.invalid${base}`);
    const broken = (href: string) => {
      const { origin, pathname, hash } = new URL(href, address);
      if (origin !== address.origin) return false;
      if (!pathname.startsWith(base)) return true;
      const path = decodeURI(pathname.slice(base.length));
      const file = [path, `${path}.html`, `${path}index.html`].find((each) => pages.has(each));
      if (file === undefined) return !existsSync(join(root, path)) || path === '';
      return hash.length > 1 && !pages.get(file)?.ids.has(decodeURIComponent(hash.slice(1)));
    };
    for (const link of new Set(links.filter(broken))) problems.push(`${name} links to ${link}`);
    const foreign = assets.filter(
      (asset) => new URL(asset, address).origin !== address.origin || broken(asset),
    );
    for (const asset of new Set(foreign)) problems.push(`${name} loads ${asset}`);
  }
  for (const [path, markdown] of sources) {
    const name = path.replace(/\.md$/, '.html');
    const missing = splitIntoSections(markdown).filter(({ anchor }) => !pages.get(name)?.ids.has(anchor));
    for (const { anchor } of missing) problems.push(`the search leads to ${name}#${anchor}`);
  }
  if (problems.length > 0) throw new Error(`Dead links, or files of other servers:\n${problems.join('\n')}`);
  console.log(
    `${pages.size} pages: every link and search result leads to a page and a heading, and nothing is loaded from elsewhere.`,
  );
}
