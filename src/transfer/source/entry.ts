import { OperatorError } from '../../errors.ts';

/** What an archive or a folder holds at one name. */
export interface SourceEntry {
  /** The path as the source spells it. */
  name: string;
  kind: 'file' | 'dir';
  /** How many bytes `content` has according to the source, known before any is read. */
  bytes: number;
  modified: Date;
  content: AsyncIterable<Uint8Array>;
}

const SHOWN_CHARACTERS = 300;

/**
 * A text from a source that nobody vouches for, fit for a terminal: what could move its cursor or hide itself is escaped.
 *
 * @param visible what need not be escaped
 */
export function printable(text: string, visible: RegExp = /[^\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/u): string {
  const shown: string[] = [];
  for (const character of text) {
    if (shown.push(visible.test(character) ? character : escaped(character)) === SHOWN_CHARACTERS) {
      return `${shown.join('')}…`;
    }
  }
  return shown.join('');
}

function escaped(character: string): string {
  const hex = (character.codePointAt(0) ?? 0).toString(16).toUpperCase();
  return hex.length > 4 ? `\\u{${hex}}` : `\\u${hex.padStart(4, '0')}`;
}

/** With everything but ASCII escaped, for names that look the same and are not. */
export function spelledOut(text: string): string {
  return printable(text, /[ -~]/);
}

/** Why one entry cannot be imported, and what to do about it. */
export function cannotImport(name: string, why: string): OperatorError {
  return new OperatorError(`Cannot import ${printable(name)}: ${why}`);
}

/** @param shown the name as far as it can be shown */
export function notUtf8Name(shown: string): OperatorError {
  return cannotImport(shown, 'its name is not UTF-8. Rename it, for example with: convmv -f latin1 -t utf-8');
}

/** A character up to U+00FF as the byte that it stands for. */
export function asByte(character: string): string {
  return `\\x${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;
}
