/** Actor colors. */
export const SERIES = 8;

/**
 * Assigns a color to each key. A key keeps its color; a new one gets the color that its name selects, or the next one
 * that no shown key has.
 */
export function assignColors(
  before: Record<string, number>,
  shown: readonly string[],
): Record<string, number> {
  const colors: Record<string, number> = {};
  const taken = new Set<number>();
  const take = (key: string, color: number) => {
    colors[key] = color;
    taken.add(color);
  };
  for (const key of shown) {
    const color = before[key];
    if (color !== undefined && !taken.has(color)) take(key, color);
  }
  // Sorted, because the actors' order depends on their numbers of changes.
  for (const key of shown.filter((each) => colors[each] === undefined).sort()) {
    let color = hashText(key) % SERIES;
    while (taken.has(color)) color = (color + 1) % SERIES;
    take(key, color);
  }
  return { ...before, ...colors };
}

/** FNV-1a. */
export function hashText(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193) >>> 0;
  return hash;
}
