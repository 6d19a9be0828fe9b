export type LineEnding = '\n' | '\r\n';

const ENDING = /\r\n|\r|\n/g;

/** Returns a text's line ending, or null if the text mixes line endings. The editor converts them to line feeds. */
export function detectLineEnding(text: string): LineEnding | null {
  const endings = new Set(text.match(ENDING) ?? ['\n']);
  const [first] = endings;
  return endings.size === 1 && (first === '\n' || first === '\r\n') ? first : null;
}

export function withLineEnding(text: string, ending: LineEnding): string {
  return text.replace(ENDING, ending);
}
