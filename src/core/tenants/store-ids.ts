import { randomBytes } from 'node:crypto';
import { MAX_PATH_BYTES, type MemoryPath, parsePath, ROOT } from '../memory/path.ts';

/*
 * IDs in the Memory Stores API. A memory or version ID is a prefix for its kind, followed by the digits of the UUID in
 * the history.
 */

const DIGITS = /^[0-9a-f]{32}$/;

/** Generates an ID for a store. The ID is also a valid tenant ID. */
export function newStoreId(): string {
  return `memstore_${randomBytes(12).toString('hex')}`;
}

export type IdKind = 'mem' | 'memver';

export function toPublicId(kind: IdKind, uuid: string): string {
  return `${kind}_${uuid.replaceAll('-', '')}`;
}

/** Returns the UUID in an ID, or undefined for an invalid ID. */
export function toUuid(kind: IdKind, id: string): string | undefined {
  const digits = id.startsWith(`${kind}_`) ? id.slice(kind.length + 1) : '';
  return DIGITS.test(digits) ? digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-') : undefined;
}

/** Maximum length of a memory's path in bytes. The path of its file also includes `/memories`. */
export const MAX_MEMORY_PATH_BYTES = MAX_PATH_BYTES - ROOT.length;

export const PATH_RULE =
  `1 to 20 names of at most 255 bytes, a "/" before each, ${MAX_MEMORY_PATH_BYTES} bytes in all. No name is "." or "..", ` +
  'also not percent-encoded. The path is in Unicode Normalization Form C, without backslashes, control and format characters, and U+2028 and U+2029.';

/** Returns the path of a memory's file, or undefined if the memory's path is invalid or not normalized. */
export function toFilePath(path: string): MemoryPath | undefined {
  const whole = ROOT + path;
  const parsed = path.startsWith('/') ? parsePath(whole) : undefined;
  return parsed?.ok && parsed.path === whole ? parsed.path : undefined;
}

export function isFilePath(path: string): boolean {
  return toFilePath(path) !== undefined;
}

/** Returns the directory for a prefix such as `/notes/`, or undefined for an invalid prefix. */
export function toDirectoryPath(prefix: string): MemoryPath | undefined {
  if (prefix === '/') return ROOT;
  return prefix.endsWith('/') ? toFilePath(prefix.slice(0, -1)) : undefined;
}

export function toPublicPath(path: string): string {
  return path.slice(ROOT.length);
}
