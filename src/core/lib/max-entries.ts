/**
 * Options for an LRUCache that limit its number of entries. lru-cache's own option `max` allocates the memory for all
 * entries immediately.
 */
export function maxEntries(count: number): { maxSize: number; sizeCalculation: () => number } {
  return { maxSize: count, sizeCalculation: () => 1 };
}
