import { z } from 'zod';

export type SnakeCase<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${SnakeCase<Rest>}`
  : Name;

/** The name of a field as JSON has it: `maxFiles` is `max_files`. */
export function snakeCase<Name extends string>(name: Name): SnakeCase<Name> {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`) as SnakeCase<Name>;
}

/** The name of a field as code has it: `max_files` is `maxFiles`. */
export function camelCase(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** A value of JSON with other names of its fields. The names in `metadata` are its author's and stay. */
export function renamed(value: unknown, rename: (name: string) => string): unknown {
  if (Array.isArray(value)) return value.map((each) => renamed(each, rename));
  if (typeof value !== 'object' || value === null || value instanceof Date) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [
      rename(name),
      name === 'metadata' ? each : renamed(each, rename),
    ]),
  );
}

/** Text that Postgres can hold. */
export const storableText = (maxLength: number) =>
  z
    .string()
    .max(maxLength)
    .refine((value) => value.isWellFormed() && !value.includes('\0'), 'must be Unicode text without U+0000');

/**
 * Control characters, line separators, and invisible ones such as bidirectional controls. Words and emoji need the
 * joiners.
 */
const UNSAFE = /[\p{Cc}\p{Zl}\p{Zp}]|(?![\u200c\u200d])\p{Cf}/u;

/** The rule for labels, sources, titles and display names, which headers, logs, terminals and shells have to carry. */
export const NAME_RULE =
  'must be one line without control and invisible characters, without spaces at its ends, and must not start with "-"';

export function isName(text: string): boolean {
  return !UNSAFE.test(text) && text.trim() === text && !text.startsWith('-');
}

/** A new label, source, title or display name. Existing ones are not checked. */
export const nameText = (maxLength: number) => storableText(maxLength).refine(isName, NAME_RULE);
