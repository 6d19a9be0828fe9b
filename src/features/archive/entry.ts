import type { ARCHIVE_ERRORS } from '../../core/errors/archive-errors.ts';
import type { ErrorValues } from '../../core/errors/catalog.ts';
import { ServiceError } from '../../core/errors/errors.ts';

/** A file or directory in an archive or in a local directory. */
export interface SourceEntry {
  /** Entry name, not normalized. */
  name: string;
  kind: 'file' | 'dir';
  /** Declared size of `content` in bytes. */
  bytes: number;
  modified: Date;
  content: AsyncIterable<Uint8Array>;
}

const SHOWN_CHARACTERS = 300;

/**
 * Escapes control characters and invisible characters, so that untrusted text is safe to print on a terminal. Truncates
 * long text.
 *
 * @param visible matches the characters that need no escape
 */
export function escapeInvisible(
  text: string,
  visible: RegExp = /[^\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/u,
): string {
  const shown: string[] = [];
  for (const character of text) {
    if (shown.push(visible.test(character) ? character : escapeCharacter(character)) === SHOWN_CHARACTERS) {
      return `${shown.join('')}…`;
    }
  }
  return shown.join('');
}

function escapeCharacter(character: string): string {
  const hex = (character.codePointAt(0) ?? 0).toString(16).toUpperCase();
  return hex.length > 4 ? `\\u{${hex}}` : `\\u${hex.padStart(4, '0')}`;
}

/** Escapes all characters except printable ASCII, to distinguish names that look the same. */
export function escapeNonAscii(text: string): string {
  return escapeInvisible(text, /[ -~]/);
}

/** Reason why an entry cannot be imported. Each error's first value is the entry name. */
export type EntryFault = Extract<keyof typeof ARCHIVE_ERRORS, `entry_${string}`>;
type FaultValues<F extends EntryFault> =
  Parameters<(typeof ARCHIVE_ERRORS)[F]['problem']> extends [string, ...infer Others] ? Others : never;

export function cannotImport<F extends EntryFault>(
  name: string,
  fault: F,
  ...values: FaultValues<F>
): ServiceError {
  return new ServiceError(fault, ...([escapeInvisible(name), ...values] as unknown as ErrorValues[F]));
}

/** Formats a character up to U+00FF as the byte that it represents. */
export function asByte(character: string): string {
  return `\\x${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;
}
