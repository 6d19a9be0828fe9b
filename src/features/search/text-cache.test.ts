import { expect, it, vi } from 'vitest';
import { readText, shareTexts } from './shared-text.ts';
import { type CachedFile, TextCache } from './text-cache.ts';

const file = (path: string, content: string): CachedFile =>
  shareTexts([
    { path: `/memories/${path}`, content, bytes: Buffer.byteLength(content), modified: 0, version: path },
  ])[0] as CachedFile;
const memory = (...files: CachedFile[]) => ({ files, state: 's' });

it("drops a tenant's cached files after some time without a search", async () => {
  const cache = new TextCache(10_000, undefined, 5);
  cache.set('quiet', memory(file('a', 'x')));
  await vi.waitFor(() => expect(cache.tenants).toBe(0));
});

it('drops the files of the tenant whose last search is oldest if all files exceed the limit', () => {
  const cache = new TextCache(10_000);
  const text = 'x'.repeat(4000);
  for (const tenant of ['one', 'two', 'three']) cache.set(tenant, memory(file('a', text)));
  expect(['one', 'two', 'three'].map((tenant) => cache.get(tenant)?.files.length)).toStrictEqual([
    undefined,
    1,
    1,
  ]);
});

it('does not cache files over the limit, and counts two bytes for each character beyond Latin-1', () => {
  const cache = new TextCache(10_000);
  cache.set('ascii', memory(file('a', 'x'.repeat(9000))));
  expect(cache.get('ascii')?.files).toHaveLength(1);
  cache.set('greek', memory(file('a', 'λ'.repeat(9000))));
  expect(cache.get('greek')).toBeUndefined();
});

it('caches no files if the limit is 0', () => {
  const cache = new TextCache(0);
  cache.set('one', memory(file('a', 'x')));
  expect(cache.get('one')).toBeUndefined();
});

it("drops a tenant's cached files if its new files exceed the limit", () => {
  const cache = new TextCache(10_000);
  cache.set('one', memory(file('a', 'x')));
  cache.set('one', memory(file('a', 'x'.repeat(20_000))));
  expect(cache.get('one')).toBeUndefined();
});

it('copies unchanged files to new buffers if old contents fill more than half of their buffers', () => {
  const cache = new TextCache(100_000);
  const files = shareTexts(
    ['a', 'b', 'c', 'd'].map((path) => ({ ...file(path, ''), content: 'x'.repeat(5000), bytes: 5000 })),
  );
  const [first] = files as [CachedFile];
  const changed = (path: string) => file(path, 'y'.repeat(5000));
  cache.set('one', { files, state: 's' });
  cache.set('one', memory(first, changed('b'), changed('c'), changed('d')));
  expect(cache.get('one')?.files).toHaveLength(4);
  const sizes = () => cache.get('one')?.files.map(({ content: { buffer } }) => buffer.byteLength);
  expect(sizes()).toStrictEqual([20_000, 5000, 5000, 5000]);
  cache.set('one', memory(first));
  expect(sizes()).toStrictEqual([5000]);
  expect(readText(cache.get('one')?.files[0]?.content ?? '')).toBe('x'.repeat(5000));
  cache.set('two', { files, state: 's' });
  cache.update('two', memory(...files.slice(1)));
  expect(cache.get('two')?.files.map(({ content: { buffer } }) => buffer.byteLength)).toStrictEqual(
    Array(3).fill(15_000),
  );
  cache.update('three', memory(first));
  expect(cache.get('three')).toBeUndefined();
});

it("follows a tenant's changes only while the tenant's files are cached", () => {
  const events: string[] = [];
  const cache = new TextCache(10_000, (tenant) => {
    events.push(`follow ${tenant}`);
    return () => events.push(`leave ${tenant}`);
  });
  cache.set('one', memory(file('a', 'x')));
  cache.set('one', memory(file('a', 'y')));
  cache.forget('one');
  cache.set('two', memory(file('a', 'x')));
  cache.set('two', memory(file('a', 'x'.repeat(20_000))));
  cache.set('three', memory(file('a', 'x')));
  cache.clear();
  expect(events).toStrictEqual([
    'follow one',
    'leave one',
    'follow two',
    'leave two',
    'follow three',
    'leave three',
  ]);
});
