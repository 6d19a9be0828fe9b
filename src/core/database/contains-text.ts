import { withoutCase } from '../lib/folding.ts';

/**
 * A text to find without regard to case, as a parameter value: the folded text, the characters to replace in the
 * searched text, and their replacements. Null finds every text.
 */
export type SoughtPart = string[] | null;

/**
 * Folds a text for `containsText`. The service folds it, because `lower` in SQL depends on the database locale: in the
 * locale C, `lower` changes only ASCII. A character whose folded form is longer is unchanged.
 */
export function soughtPart(text: string | null | undefined): SoughtPart {
  if (text == null) return null;
  const replaced = new Map<string, string>();
  let folded = '';
  for (const char of text) {
    const form = [withoutCase(char), char.toLowerCase()].find(isOneCharacter) ?? char;
    folded += form;
    for (const other of [char, form.toUpperCase(), form === 'σ' ? 'ς' : form])
      if (other !== form && isOneCharacter(other)) replaced.set(other, form);
  }
  return [folded, [...replaced.keys()].join(''), [...replaced.values()].join('')];
}

const isOneCharacter = (text: string) => [...text].length === 1;

/** SQL condition: whether `text` contains a parameter's `soughtPart` value. Null for null. */
export function containsText(text: string, parameter: string): string {
  const part = (n: number) => `($${parameter}::text[])[${n}]`;
  return `strpos(translate(${text}, ${part(2)}, ${part(3)}), ${part(1)}) > 0`;
}
