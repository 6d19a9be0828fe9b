/**
 * Limits for comparing or merging texts on the event loop, in total over all files. The time grows with the product of
 * the repetitions of their lines. Within these limits, the time is a few milliseconds at worst.
 */
const FEW_LINES = 200;
const FEW_CHARACTERS = 32 * 1024;

/** Whether all files' texts, each with its sides, are short enough for the event loop. */
export function areShort(files: Iterable<readonly string[]>): boolean {
  let [characters, lines] = [0, 0];
  for (const sides of files) {
    characters += Math.max(0, ...sides.map(({ length }) => length));
    if (characters > FEW_CHARACTERS) return false;
    lines += Math.max(0, ...sides.map(countLines));
    if (lines > FEW_LINES) return false;
  }
  return true;
}

function countLines(text: string): number {
  let lines = 0;
  for (let at = text.indexOf('\n'); at !== -1 && lines <= FEW_LINES; at = text.indexOf('\n', at + 1)) lines++;
  return lines;
}
