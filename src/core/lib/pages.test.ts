import { expect, it } from 'vitest';
import { batches, cutPage, readPages } from './pages.ts';

/** Returns a reader for pages with the numbers from 1 to `count`, and the positions that were read. */
function numbers(count: number, limit: number) {
  const asked: (number | undefined)[] = [];
  const readPage = async (last: number | undefined) => {
    asked.push(last);
    const first = (last ?? 0) + 1;
    return Array.from({ length: Math.max(0, Math.min(limit, count - first + 1)) }, (_, i) => first + i);
  };
  return { asked, readPage };
}

async function collect<T>(rows: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const row of rows) all.push(row);
  return all;
}

it.each([
  ['an empty listing', 0, [undefined]],
  ['a last page that is short', 5, [undefined, 2, 4]],
  ['a last page that is full', 4, [undefined, 2, 4]],
])('reads %s page by page', async (_, count, expected) => {
  const { asked, readPage } = numbers(count, 2);
  expect(await collect(readPages(readPage, 2))).toStrictEqual(Array.from({ length: count }, (_, i) => i + 1));
  expect(asked).toStrictEqual(expected);
});

it('reads until an empty page if a page reader has no fixed page size', async () => {
  const { asked, readPage } = numbers(3, 1);
  expect(await collect(readPages(readPage))).toStrictEqual([1, 2, 3]);
  expect(asked).toStrictEqual([undefined, 1, 2, 3]);
});

it('loads the next page only after all rows before it are consumed', async () => {
  const { asked, readPage } = numbers(4, 2);
  for await (const row of readPages(readPage, 2)) if (row === 2) break;
  expect(asked).toStrictEqual([undefined]);
});

it('ends a batch before it exceeds the maximum number or the maximum weight', async () => {
  const split = (weights: number[]) =>
    collect(batches(weights, { items: 3, weight: 10, weigh: (weight) => weight }));
  expect(await split([])).toStrictEqual([]);
  expect(await split([6, 4, 1, 9, 1])).toStrictEqual([[6, 4], [1, 9], [1]]);
  expect(await split([1, 11, 11, 1])).toStrictEqual([[1], [11], [11], [1]]);
  expect(await split([1, 1, 1, 1])).toStrictEqual([[1, 1, 1], [1]]);
});

it.each([
  ['an empty list', [], [], null],
  ['a short last page', [1], [1], null],
  ['a full last page', [1, 2], [1, 2], null],
  ['a page before others', [1, 2, 3], [1, 2], { id: 2 }],
])('cuts a page to its size and says where the next page begins: %s', (_, read, rows, next) => {
  expect(cutPage<number, { id: number }>(read, 2, (id) => ({ id }))).toStrictEqual({ rows, next });
});
