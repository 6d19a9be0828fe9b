/** Returns a seeded generator with the same numbers in each run. */
export function createRandom(seed: number) {
  let state = seed;
  const next = () => {
    state = (state * 1664525 + 1013904223) % 4294967296;
    return state / 4294967296;
  };
  return {
    below: (limit: number) => Math.floor(next() * limit),
    of: <T>(items: readonly T[]) => items[Math.floor(next() * items.length)] as T,
  };
}
export type Random = ReturnType<typeof createRandom>;
