import { entryKey } from '../router.ts';

/** A list's loaded part and scroll position. */
interface Remembered {
  count: number;
  scroll: number;
}

/** Lists by session history entry, so that Back returns to the same rows. */
const lists = new Map<string, Remembered>();

export const rememberedList = (): Remembered | undefined => lists.get(entryKey());

export function rememberList(count: number): void {
  lists.set(entryKey(), { count, scroll: scrollY });
}
