import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from 'vitepress';
import { checkLinks } from './check-links.ts';
import { repositoryLinks } from './links.ts';
import { mermaidFences } from './mermaid.ts';
import { REPOSITORY, STAGE, stagePages } from './pages.ts';
import { sidebar } from './sidebar.ts';

const { version, description } = JSON.parse(readFileSync(join(REPOSITORY, 'package.json'), 'utf8'));
/** Set by a release: the URL of the repository, and the path of the site on GitHub Pages. */
const { REPOSITORY_URL, BASE = '/' } = process.env;

/** Creates the ID of a heading as GitHub does, so that a link works on GitHub and on the site. */
const slugify = (heading: string) =>
  heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{M}\p{N}_\- ]/gu, '')
    .replaceAll(' ', '-');

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
    },
  },
  themeConfig: {
    logo: '/icon.svg',
    search: {
      provider: 'local',
      options: {
        miniSearch: {
          // Requires all words of a query. Only words of three or more letters match by prefix, because a word such as
          // "a" starts too many words.
          searchOptions: { combineWith: 'AND', fuzzy: 0.1, prefix: (term) => term.length > 2 },
        },
      },
    },
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
  buildEnd: ({ outDir, site }) => checkLinks(outDir, site.base),
});
