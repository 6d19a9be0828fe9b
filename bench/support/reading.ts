import { queryWords } from '../../src/features/search/words.ts';
import type { Document } from './retrieval.ts';

/** A result line that shows a document line. */
export interface ShownLine {
  id: string;
  /** From 1; null if the result only names the document. */
  line: number | null;
  /** Length of the line in the result. */
  characters: number;
}

/** Characters that a view adds to each line: the line number and a tab. */
const LINE_NUMBER = 7;

/** Returns the output from `grep -n -i -E` with a query's words, in the documents' order. */
export function grep(query: string, documents: readonly Document[]): ShownLine[] {
  const expression = new RegExp(
    queryWords(query)
      .map(({ text }) => text)
      .join('|'),
    'i',
  );
  return documents.flatMap(({ id, text }) =>
    text.split('\n').flatMap((line, i) => {
      const prefix = `${id}:${i + 1}:`;
      return expression.test(line) ? { id, line: i + 1, characters: prefix.length + line.length + 1 } : [];
    }),
  );
}

/**
 * Measures how many characters a model reads until it has read a text with the evidence. The model reads the result
 * from its first line, then views the documents that the result names, in the same order, and then all others.
 */
export class Reading {
  #questions = 0;
  #characters = 0;
  #resultCharacters = 0;
  #inResult = 0;

  add(shown: readonly ShownLine[], documents: readonly Document[], passages: readonly Document[]): void {
    this.#questions++;
    this.#resultCharacters += shown.reduce((sum, { characters }) => sum + characters, 0);
    const wanted = passages.map((passage) => ({ ...passageLines(passage, documents), id: passage.id }));
    const read = new Map<string, Set<number>>();
    for (const { id, line, characters } of shown) {
      this.#characters += characters;
      if (line === null) continue;
      const lines = read.get(id) ?? new Set();
      read.set(id, lines.add(line));
      if (wanted.some((each) => each.id === id && hasAll(lines, each))) {
        this.#inResult++;
        return;
      }
    }
    const texts = new Map(documents.map(({ id, text }) => [id, text]));
    for (const id of new Set([...shown.map((line) => line.id), ...texts.keys()])) {
      const text = texts.get(id) ?? '';
      this.#characters += text.length + LINE_NUMBER * text.split('\n').length;
      if (wanted.some((each) => each.id === id)) return;
    }
  }

  /**
   * Returns the mean characters until the evidence, the mean characters in the result, and the share of results with
   * it.
   */
  means(): { untilEvidence: number; result: number; inResult: number } {
    return {
      untilEvidence: this.#characters / this.#questions,
      result: this.#resultCharacters / this.#questions,
      inResult: this.#inResult / this.#questions,
    };
  }
}

/** Returns a passage's lines in its document. */
function passageLines({ id, text }: Document, documents: readonly Document[]): { from: number; to: number } {
  const content = documents.find((each) => each.id === id)?.text ?? '';
  const from = content.slice(0, content.indexOf(text)).split('\n').length;
  return { from, to: from + text.split('\n').length - 1 };
}

function hasAll(lines: ReadonlySet<number>, { from, to }: { from: number; to: number }): boolean {
  for (let line = from; line <= to; line++) if (!lines.has(line)) return false;
  return true;
}
