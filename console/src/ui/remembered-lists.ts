import { entryKey } from '../router.ts';

/** The loaded part of a list, and its scroll position. */
interface Remembered {
  count: number;
  scroll: number;
}

/** Lists by entry of the session history, so that Back returns to the same rows. */
const lists = new Map<string, Remembered>();

export const rememberedList = (): Remembered | undefined => lists.get(entryKey());

export function rememberList(count: number): void {
  lists.set(entryKey(), { count, scroll: scrollY });
}
