/**
 * Text kind. `titles` are test titles, `suites` are `describe` titles, and `texts` are strings for the service's users:
 * help, errors, the console, and API descriptions.
 */
export type Kind = 'comments' | 'titles' | 'suites' | 'texts' | 'docs';

export interface Text {
  kind: Kind;
  /** Line of the first character, from 1. */
  line: number;
  text: string;
}

export const lineAt = (source: string, index: number) => source.slice(0, index).split('\n').length;

/** Start of a paragraph: a list item, a described name (`url: The URL …`, `--port  Port …`), or a JSDoc tag. */
const STARTS =
  /^\s*(?:[-*•] |\d+\. |[A-Za-z_]+: (?=[A-Z])|(?:--[a-z]|[A-Z_]+ ).*? {2,}|@(?:param|throws|returns|default)\b(?: \{[^}]*\})?)/;

/** Splits a comment into paragraphs and list items, without comment markers. */
export function paragraphs(content: string, firstLine = 1): { line: number; text: string }[] {
  const found: { line: number; text: string }[] = [];
  let current: { line: number; text: string } | undefined;
  for (const [i, raw] of content.split('\n').entries()) {
    const line = raw.replace(/^\s*\*(?= |$)/, '').trim();
    if (line === '' || STARTS.test(line)) current = undefined;
    if (line === '') continue;
    const text = line.replace(STARTS, '').trim();
    if (current !== undefined) {
      current.text += `\n${text}`;
      continue;
    }
    current = { line: firstLine + i, text };
    found.push(current);
  }
  return found;
}
