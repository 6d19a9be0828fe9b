import { LRUCache } from 'lru-cache';
import { expect, it } from 'vitest';
import { maxEntries } from './max-entries.ts';

it('limits a cache to the entries that were used last', () => {
  const cache = new LRUCache<string, number>(maxEntries(2));
  cache.set('a', 1).set('b', 2);
  cache.get('a');
  cache.set('c', 3);
  expect([...cache.keys()]).toStrictEqual(['c', 'a']);
});
