import { afterAll, expect, it } from 'vitest';
import type { FileSource } from './file-source.ts';
import { readSearchInput, type SearchRequest } from './input.ts';
import { MemorySearch } from './search.ts';
import type { SearchedFile } from './search-query.ts';
import { runSearch } from './search-tool.ts';

const search = new MemorySearch();
afterAll(() => search.close());

function request(input: object): SearchRequest {
  const read = readSearchInput(input);
  if (!read.ok) throw new Error(read.rejection);
  return read.request;
}

/** Returns a source whose pages are read after `gate` is open. */
function source(pages: SearchedFile[][], gate: Promise<void> = Promise.resolve()): FileSource {
  const all = pages.filter((page) => page.length > 0);
  return {
    page: async (_path, after) => {
      await gate;
      return all.find((page) => (page[0]?.path ?? '') > after) ?? [];
    },
    read: async (paths) => all.flat().filter(({ path }) => paths.some((each) => each === path)),
    has: async () => true,
  };
}

const file = (path: string, content: string): SearchedFile => ({
  path: `/memories/${path}`,
  content,
  bytes: content.length,
  modified: 0,
});
const numbered = (i: number) => String(i).padStart(5, '0');

it('counts all files with matching words, but returns only the 20 best', async () => {
  const pages = Array.from({ length: 12 }, (_, p) =>
    Array.from({ length: 250 }, (_, i) => file(numbered(p * 250 + i), `${'filler '.repeat(i % 7)}needle`)),
  );
  const found = await search.find('t', source(pages), request({ query: 'needle filler' }));
  if (found.kind !== 'words') throw new Error(found.kind);
  const without = Math.ceil(250 / 7) * 12;
  expect(found).toMatchObject({ searched: 3000, withAll: 3000 - without, withSome: without });
  expect(found.files).toHaveLength(20);
  const scores = found.files.map(({ score }) => score);
  expect(scores).toStrictEqual(scores.toSorted((one, other) => other - one));
});

it('returns lines from the first page without reading the files again', async () => {
  const read = () => Promise.reject(new Error('The files were read again.'));
  const files = [file('a', 'x\nneedle'), file('needle', ''), file('c', 'a needle')];
  const found = await search.find('t', { ...source([files]), read }, request({ query: 'needle' }));
  expect(found).toMatchObject({
    withAll: 3,
    files: [
      { path: '/memories/needle', lines: [] },
      { path: '/memories/a', lines: [{ line: 2, text: 'needle' }] },
      { path: '/memories/c', lines: [{ line: 1, text: 'a needle' }] },
    ],
  });
});

it('omits files that are deleted or changed before their lines are read', async () => {
  const files: FileSource = {
    ...source([
      [file('0', 'other')],
      [file('a', 'needle'), file('b', 'needle'), file('needle', ''), file('c', 'needle')],
    ]),
    read: async () => [file('c', 'needle'), file('b', 'other'), file('needle', '')],
  };
  const found = await search.find('t', files, request({ query: 'needle' }));
  expect(found).toMatchObject({
    withAll: 4,
    files: [
      { path: '/memories/needle', lines: [] },
      { path: '/memories/c', lines: [{ line: 1, text: 'needle' }] },
    ],
  });
});

it('returns the first lines over several pages, and counts the remaining lines', async () => {
  const pages = [
    [file('a', 'x\ny\nx'), file('b', 'x')],
    [file('c', 'x\nx\nx'), file('d', 'none'), file('e', 'x')],
  ];
  const found = await search.find(
    't',
    source(pages),
    request({ query: 'x', mode: 'literal', max_results: 4 }),
  );
  expect(found).toMatchObject({ kind: 'lines', searched: 5, furtherLines: 3, furtherFiles: 1 });
  const lines = found.kind === 'lines' ? found.files.map(({ path, lines }) => [path, lines.length]) : [];
  expect(lines).toStrictEqual([
    ['/memories/a', 2],
    ['/memories/b', 1],
    ['/memories/c', 1],
  ]);
});

it("runs one search at a time for a tenant, and other tenants' searches at the same time", async () => {
  let open = () => {};
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  const order: string[] = [];
  const run = async (name: string, tenant: string, files: FileSource) => {
    await search.find(tenant, files, request({ query: 'x' }));
    order.push(name);
  };
  const first = run('first', 'one', source([[file('a', 'x')]], gate));
  const second = run('second', 'one', source([[file('a', 'x')]]));
  await run('other', 'two', source([[file('a', 'x')]]));
  expect(order).toStrictEqual(['other']);
  open();
  await Promise.all([first, second]);
  expect(order).toStrictEqual(['other', 'first', 'second']);
});

/** Takes more than a minute: RE2 simulates hundreds of states for each character in random text. */
const endless = { query: '[ab].{900}[x-z]', mode: 'regex' };
const letters = Array.from({ length: 20 }, (_, i) => file(numbered(i), randomLetters(2_000_000)));

/** Returns the letters a to d, from a linear congruential generator. */
function randomLetters(length: number): string {
  const text = Buffer.alloc(length);
  let state = 1;
  for (let i = 0; i < length; i++) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    text[i] = 'abcd'.charCodeAt(state >>> 30);
  }
  return text.toString('latin1');
}

it('ends a search at its deadline and serves other tenants in the meantime', async () => {
  let deadline = new AbortController();
  const hurried = new MemorySearch(undefined, () => deadline.signal);
  const quick = (tenant: string) => hurried.find(tenant, source([[file('a', 'x')]]), request({ query: 'x' }));
  let isDone = false;
  const files = source([letters]);
  const found = runSearch(hurried, { countedAs: 't', files, input: endless, maxChars: 0 }).finally(() => {
    isDone = true;
  });
  // The other search could not end first if both ran in this thread.
  expect(await quick('other')).toMatchObject({ withAll: 1 });
  expect(isDone).toBe(false);
  deadline.abort();
  expect(await found).toMatchObject({
    content: 'Error: The search takes too much time. Search a directory with `path`, or use a simpler query.',
    isError: true,
    matches: [],
  });
  deadline = new AbortController();
  expect(await quick('t')).toMatchObject({ withAll: 1 });
  await hurried.close();
});

it('compiles an expression only in the search thread, even if the memory has no files', async () => {
  // Repetitions are expanded, so compiling this expression takes more than a second.
  expect(readSearchInput({ query: 'x{0,1000}'.repeat(100), mode: 'regex' })).toMatchObject({ ok: true });
  const invalid = request({ query: '(a', mode: 'regex' });
  expect(await search.find('t', source([]), invalid)).toStrictEqual({
    kind: 'invalid_expression',
    problem: 'missing closing ): `(a`',
  });
});

it('matches in linear time if a backtracking engine would take exponential time', async () => {
  const pages = [[file('a', `${'a'.repeat(100_000)}b\nlast`)]];
  for (const query of ['^(a|aa)+$', '^(a+)+$', '(a*)*c']) {
    const found = await search.find('t', source(pages), request({ query, mode: 'regex' }));
    expect([query, found.kind === 'lines' && found.files]).toStrictEqual([query, []]);
  }
});

it("ends a search after its client disconnects and starts the tenant's next search", async () => {
  const leaving = new AbortController();
  const read: string[] = [];
  const files: FileSource = {
    page: async (_path, after) => {
      read.push(after);
      if (read.length === 2) leaving.abort();
      return [file(numbered(read.length), 'x')];
    },
    read: async () => [],
    has: async () => true,
  };
  const left = search.find('t', files, request({ query: 'x' }), leaving.signal);
  await expect(left).rejects.toMatchObject({ code: 'client_gone' });
  expect(read.length).toBeLessThan(5);
  expect(await search.find('t', source([[file('a', 'x')]]), request({ query: 'x' }))).toMatchObject({
    withAll: 1,
  });
});

it("fails a search with the page's error if a page cannot be read", async () => {
  const broken: FileSource = {
    page: () => Promise.reject(new Error('no page')),
    read: async () => [],
    has: async () => true,
  };
  await expect(search.find('t', broken, request({ query: 'x' }))).rejects.toThrow('no page');
});
