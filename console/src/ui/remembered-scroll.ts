import { entryKey } from '../router.ts';

/** Scroll positions by session history entry, so that Back returns to the same rows. */
const positions = new Map<string, number>();

export const rememberedScroll = (): number | undefined => positions.get(entryKey());

export function rememberScroll(): void {
  positions.set(entryKey(), scrollY);
}
