import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from 'vitepress';
import { checkLinks } from './check-links.ts';
import { repositoryLinks } from './links.ts';
import { mermaidFences } from './mermaid.ts';
import { REPOSITORY, STAGE, stagePages } from './pages.ts';
import { sidebar } from './sidebar.ts';

const { version, description } = JSON.parse(readFileSync(join(REPOSITORY, 'package.json'), 'utf8'));
/** A release sets both: the repository that the site is of, and where GitHub Pages serves it. */
const { REPOSITORY_URL, BASE = '/' } = process.env;

/** A heading's id as GitHub makes it, so that a link to it works in both places. */
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
  // Those to a service that the reader runs.
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
          // All words, and only the longer ones by their beginnings: "a" is in everything.
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
