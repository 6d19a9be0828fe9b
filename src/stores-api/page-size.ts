import { fileJsonBytes } from '../http/result-bounds.ts';
import type { MemoryLimits } from '../memory/commands/command.ts';
import { jsonBytes } from '../util/json-bytes.ts';

/** A page with contents ends with the item that takes it beyond this many bytes, as stored or as sent. */
export const FULL_PAGE_BYTES = 4 * 1024 * 1024;

/** Returns the most bytes that a page is expected to have; 0 where it is short. */
export function fullPageBytes(view: 'basic' | 'full' | undefined, limits: MemoryLimits): number {
  return view === 'full' ? FULL_PAGE_BYTES + fileJsonBytes(limits) : 0;
}

/** Returns the first items, up to the item whose JSON takes the page beyond `FULL_PAGE_BYTES`. */
export function fittingItems<Item>(items: readonly Item[]): Item[] {
  let before = 0;
  return items.filter((item) => {
    const fits = before < FULL_PAGE_BYTES;
    if (fits) before += jsonBytes(item);
    return fits;
  });
}
