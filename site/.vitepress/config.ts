import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from 'vitepress';
import { checkSite } from './check-site.ts';
import { slugify } from './headings.ts';
import { repositoryLinks } from './links.ts';
import { mermaidFences } from './mermaid.ts';
import { REPOSITORY, readPages, STAGE, stagePages } from './pages.ts';
import { search } from './search.ts';
import { sidebar } from './sidebar.ts';
import { wrappingTables } from './tables.ts';

const { version, description } = JSON.parse(readFileSync(join(REPOSITORY, 'package.json'), 'utf8'));
/** Set by a release: the repository's URL, and the site's path on GitHub Pages. */
const { REPOSITORY_URL, BASE = '/' } = process.env;

stagePages();

export default defineConfig({
  title: 'memory-service',
  description,
  lang: 'en-US',
  base: BASE,
  srcDir: STAGE,
  outDir: join(REPOSITORY, 'site/dist'),
  cleanUrls: true,
  // Links to localhost lead to a service that the reader runs.
  ignoreDeadLinks: 'localhostLinks',
  head: [['link', { rel: 'icon', href: `${BASE}icon.svg` }]],
  markdown: {
    anchor: { slugify },
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    config(md) {
      repositoryLinks(md, REPOSITORY_URL && `${REPOSITORY_URL}/blob/v${version}`);
      mermaidFences(md);
      wrappingTables(md);
    },
  },
  themeConfig: {
    logo: '/icon.svg',
    search,
    outline: { level: [2, 3] },
    nav: [
      { text: 'Tutorial', link: '/tutorial' },
      { text: 'Agents', link: '/agents' },
      { text: 'Operations', link: '/production' },
      { text: 'API', link: '/api/' },
      { text: `v${version}`, link: '/changelog' },
    ],
    sidebar: sidebar(),
    ...(REPOSITORY_URL === undefined ? {} : { socialLinks: [{ icon: 'github', link: REPOSITORY_URL }] }),
  },
  buildEnd: ({ outDir, site }) => checkSite(outDir, site.base, readPages()),
});
