import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterAll, expect, it } from 'vitest';
import type { FileSource } from './files.ts';
import { readSearchInput, type SearchRequest } from './input.ts';
import type { SearchedFile } from './query.ts';
import { MemorySearch } from './search.ts';
import { runSearch } from './tool.ts';

const search = new MemorySearch();
const impatient = new MemorySearch({ deadlineMs: 100 });
afterAll(async () => {
  await Promise.all([search.close(), impatient.close()]);
});

function request(input: object): SearchRequest {
  const read = readSearchInput(input);
  if (!read.ok) throw new Error(read.refusal);
  return read.request;
}

/** Files in pages, each of which is read once `gate` is open. */
function source(pages: SearchedFile[][], gate: Promise<void> = Promise.resolve()): FileSource {
  const all = pages.filter((page) => page.length > 0);
  return {
    page: async (_path, after) => {
      await gate;
      return all.find((page) => (page[0]?.path ?? '') > after) ?? [];
    },
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

it('counts all files with the words, and keeps the best', async () => {
  const pages = Array.from({ length: 12 }, (_, p) =>
    Array.from({ length: 250 }, (_, i) => file(numbered(p * 250 + i), `${'filler '.repeat(i % 7)}needle`)),
  );
  const found = await search.find('t', source(pages), request({ query: 'needle filler' }));
  if (found.kind !== 'words') throw new Error(found.kind);
  const without = Math.ceil(250 / 7) * 12;
  expect(found).toMatchObject({ searched: 3000, withAll: 3000 - without, withSome: without });
  expect(found.files.length).toBeLessThanOrEqual(2000);
  const scores = found.files.map(({ score }) => score);
  expect(scores).toStrictEqual(scores.toSorted((one, other) => other - one));
  expect(found.files[0]?.best).toStrictEqual([1, 1]);
});

it('shows the first lines over several pages, and counts the others', async () => {
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

it('searches one at a time for a tenant, while others go on', async () => {
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

/** A state explosion: RE2 falls back to a simulation of all states for each character. */
const endless = { query: '(\\pL{30}){30}x', mode: 'regex' };
const letters = [Array.from({ length: 20 }, (_, i) => file(numbered(i), 'abcdefghij'.repeat(200_000)))];

it('gives up a search that takes too long, off the event loop, and goes on with the next', async () => {
  let turns = 0;
  let isDone = false;
  const files = source(letters);
  const found = runSearch(impatient, { countedAs: 't', files, input: endless, maxChars: 0 }).finally(() => {
    isDone = true;
  });
  while (!isDone) {
    turns++;
    await nextTurn();
  }
  expect(await found).toMatchObject({
    content: 'Error: The search takes too much time. Search a directory with `path`, or use a simpler query.',
    isError: true,
    matches: [],
  });
  // In this thread, no turn of the event loop would pass.
  expect(turns).toBeGreaterThan(100);
  expect(await search.find('t', source([[file('a', 'x')]]), request({ query: 'x' }))).toMatchObject({
    withAll: 1,
  });
});

it('searches for one tenant while the expression of another one takes long', async () => {
  const patient = new MemorySearch({ deadlineMs: 60_000 });
  let isDone = false;
  const long = patient.find('one', source(letters), request(endless)).finally(() => {
    isDone = true;
  });
  long.catch(() => {});
  expect(await patient.find('two', source([[file('a', 'x')]]), request({ query: 'x' }))).toMatchObject({
    withAll: 1,
  });
  expect(isDone).toBe(false);
  await patient.close();
  await expect(long).rejects.toThrow();
});

it('compiles an expression in the thread alone, also where there is nothing to search', async () => {
  // Repetitions are expanded: this one takes more than a second.
  expect(readSearchInput({ query: 'x{0,1000}'.repeat(100), mode: 'regex' })).toMatchObject({ ok: true });
  const invalid = request({ query: '(a', mode: 'regex' });
  expect(await search.find('t', source([]), invalid)).toStrictEqual({
    kind: 'invalid_expression',
    problem: 'missing closing ): `(a`',
  });
});

it('matches expressions that backtracking would not finish', async () => {
  const pages = [[file('a', `${'a'.repeat(100_000)}b\nlast`)]];
  for (const query of ['^(a|aa)+$', '^(a+)+$', '(a*)*c']) {
    const found = await search.find('t', source(pages), request({ query, mode: 'regex' }));
    expect([query, found.kind === 'lines' && found.files]).toStrictEqual([query, []]);
  }
});

it('ends when nobody waits for the result any more, and lets the next search of the tenant begin', async () => {
  const leaving = new AbortController();
  const read: string[] = [];
  const files: FileSource = {
    page: async (_path, after) => {
      read.push(after);
      if (read.length === 2) leaving.abort();
      return [file(numbered(read.length), 'x')];
    },
    has: async () => true,
  };
  const left = search.find('t', files, request({ query: 'x' }), leaving.signal);
  await expect(left).rejects.toMatchObject({ code: 'client_gone' });
  expect(read.length).toBeLessThan(5);
  expect(await search.find('t', source([[file('a', 'x')]]), request({ query: 'x' }))).toMatchObject({
    withAll: 1,
  });
});

it('leaves a page that cannot be read to the caller', async () => {
  const broken: FileSource = { page: () => Promise.reject(new Error('no page')), has: async () => true };
  await expect(search.find('t', broken, request({ query: 'x' }))).rejects.toThrow('no page');
});
