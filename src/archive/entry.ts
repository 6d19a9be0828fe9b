import type { ARCHIVE_ERRORS } from '../errors/archives.ts';
import type { ErrorValues } from '../errors/catalog.ts';
import { ServiceError } from '../errors/errors.ts';

/** An entry of an archive or a folder. */
export interface SourceEntry {
  /** The path as the source spells it. */
  name: string;
  kind: 'file' | 'dir';
  /** The size of `content` in bytes, as declared by the source. */
  bytes: number;
  modified: Date;
  content: AsyncIterable<Uint8Array>;
}

const SHOWN_CHARACTERS = 300;

/**
 * Makes text from an untrusted source safe to print on a terminal: escapes control characters and invisible ones.
 *
 * @param visible matches the characters that need no escape
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

/** Escapes everything but ASCII, for names that only look the same. */
export function spelledOut(text: string): string {
  return printable(text, /[ -~]/);
}

/** Why an entry cannot be imported. The first value of each is the name of the entry. */
export type EntryFault = Extract<keyof typeof ARCHIVE_ERRORS, `entry_${string}`>;
type FaultValues<F extends EntryFault> =
  Parameters<(typeof ARCHIVE_ERRORS)[F]['problem']> extends [string, ...infer Others] ? Others : never;

/** The error for an entry that cannot be imported. */
export function cannotImport<F extends EntryFault>(
  name: string,
  fault: F,
  ...values: FaultValues<F>
): ServiceError {
  return new ServiceError(fault, ...([printable(name), ...values] as unknown as ErrorValues[F]));
}

/** Shows a character up to U+00FF as the byte that it represents. */
export function asByte(character: string): string {
  return `\\x${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;
}
