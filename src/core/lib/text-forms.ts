import { z } from 'zod';

export type SnakeCase<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${SnakeCase<Rest>}`
  : Name;

/** Converts a field's name in code to its name in JSON: `maxFiles` to `max_files`. */
export function snakeCase<Name extends string>(name: Name): SnakeCase<Name> {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`) as SnakeCase<Name>;
}

/** Converts a field's name in JSON to its name in code: `max_files` to `maxFiles`. */
export function camelCase(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** Renames the fields in a JSON value. The names in `metadata` are kept, because users chose them. */
export function renameKeys(value: unknown, rename: (name: string) => string): unknown {
  if (Array.isArray(value)) return value.map((each) => renameKeys(each, rename));
  if (typeof value !== 'object' || value === null || value instanceof Date) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [
      rename(name),
      name === 'metadata' ? each : renameKeys(each, rename),
    ]),
  );
}

/** Compares texts by code point, as the database sorts. JavaScript compares UTF-16 code units. */
export function compareCodePoints(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other));
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export function isUuid(text: string): boolean {
  return UUID.test(text);
}

/** A text that Postgres can store. */
export const storableText = (maxLength: number) =>
  z
    .string()
    .max(maxLength)
    .refine((value) => value.isWellFormed() && !value.includes('\0'), 'must be Unicode text without U+0000');

/**
 * Matches control characters, line separators, and invisible characters such as bidirectional controls. Joiners are
 * allowed, because words and emoji need them.
 */
const UNSAFE = /[\p{Cc}\p{Zl}\p{Zp}]|(?![\u200c\u200d])\p{Cf}/u;

/**
 * The rule for labels, sources, titles, and display names, which must be safe in headers, logs, terminals, and shells.
 */
export const NAME_RULE =
  'must be one line without control and invisible characters, without spaces at its ends, and must not start with "-"';

export function isName(text: string): boolean {
  return !UNSAFE.test(text) && text.trim() === text && !text.startsWith('-');
}

/** A new label, source, title, or display name. Existing names are not checked. */
export const nameText = (maxLength: number) => storableText(maxLength).refine(isName, NAME_RULE);
