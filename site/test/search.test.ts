/** First hits in the site search, on the sections and with the options that the browser uses. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import MiniSearch from 'minisearch';
import { splitIntoSections } from '../.vitepress/headings.ts';
import { readPages } from '../.vitepress/pages.ts';
import { indexOptions, searchOptions } from '../.vitepress/search.ts';

const index = new MiniSearch({
  fields: ['title', 'titles', 'text'],
  ...indexOptions,
  // A function reaches the browser as text, so a variable outside it would be missing there.
  searchOptions: { ...searchOptions, processTerm: new Function(`return ${searchOptions.processTerm}`)() },
});
for (const [path, markdown] of readPages()) {
  for (const { anchor, titles, text } of splitIntoSections(markdown)) {
    const id = `/${path.replace(/\.md$/, '')}#${anchor}`;
    index.add({ id, text, title: titles.at(-1), titles: titles.slice(0, -1) });
  }
}

/** Returns the pages for the first results, each page once. */
function firstPages(query: string, count: number): string[] {
  const pages = index.search(query).map(({ id }) => id.split('#')[0]);
  return [...new Set(pages)].slice(0, count);
}

describe('the site search', () => {
  const firstHits = {
    'how do I undo': '/history',
    undo: '/history',
    'restore deleted file': '/history',
    gdpr: '/delete-a-user',
    'GDPR request': '/delete-a-user',
    'erase user data': '/delete-a-user',
    'forget a person': '/delete-a-user',
    'delete user': '/delete-a-user',
    'erase a text everywhere': '/incidents',
    'retry a write': '/idempotency',
    'rename a tenant': '/command-line',
    str_replace: '/contract-commands',
    read_only_key: '/errors',
    'helm chart': '/kubernetes',
    openai: '/any-model',
    restor: '/history',
    'rate limit': '/settings',
    MAX_FILE_BYTES: '/settings',
  };
  for (const [query, page] of Object.entries(firstHits)) {
    it(`lists ${page} first for "${query}"`, () => assert.deepEqual(firstPages(query, 1), [page]));
  }

  const hits = {
    gdpr: ['/incidents', 4],
    'erase user data': ['/incidents', 4],
    'how do I undo': ['/console', 4],
  } as const;
  for (const [query, [page, count]] of Object.entries(hits)) {
    it(`lists ${page} among the first ${count} pages for "${query}"`, () => {
      assert.ok(firstPages(query, count).includes(page), firstPages(query, count).join(' '));
    });
  }

  it('ignores queries that have only stop words', () => assert.deepEqual(firstPages('how do I', 1), []));

  it('searches object property names as words', () => {
    assert.doesNotThrow(() => index.search('constructor __proto__ toString'));
  });
});
