import type { Context } from './context-schema.ts';

/** Returns the guidance and the snapshot, or the changes. */
export function contextAsText({ guidance, snapshot, changes }: Context): string {
  return snapshot === null ? (changes ?? '') : `${guidance}\n\n${snapshot}`;
}
