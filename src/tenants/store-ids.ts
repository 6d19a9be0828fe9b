import { randomBytes } from 'node:crypto';
import { MAX_PATH_BYTES, type MemoryPath, parsePath, ROOT } from '../memory/path.ts';

/*
 * The ids of this API: those of the history are UUIDs, of which it shows the digits behind a prefix that names the
 * kind.
 */

const DIGITS = /^[0-9a-f]{32}$/;

/** A new id for a store. It is a valid id of a tenant. */
export function newStoreId(): string {
  return `memstore_${randomBytes(12).toString('hex')}`;
}

export type IdKind = 'mem' | 'memver';

export function shownId(kind: IdKind, uuid: string): string {
  return `${kind}_${uuid.replaceAll('-', '')}`;
}

/** The UUID of an id, or undefined for a text that is no such id. */
export function uuidOf(kind: IdKind, id: string): string | undefined {
  const digits = id.startsWith(`${kind}_`) ? id.slice(kind.length + 1) : '';
  return DIGITS.test(digits) ? digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-') : undefined;
}

/** The longest path of a memory, in bytes: where the file is, it is below `/memories`. */
export const MAX_MEMORY_PATH_BYTES = MAX_PATH_BYTES - ROOT.length;

export const PATH_RULE =
  `1 to 20 names of at most 255 bytes, a "/" before each, ${MAX_MEMORY_PATH_BYTES} bytes in all. No name is "." or "..", ` +
  'also not percent-encoded. The path is in Unicode Normalization Form C, without backslashes, control and format characters, and U+2028 and U+2029.';

/** The path of a memory's file, or undefined if the memory's path is invalid: paths are not corrected here. */
export function filePathOf(path: string): MemoryPath | undefined {
  const whole = ROOT + path;
  const parsed = path.startsWith('/') ? parsePath(whole) : undefined;
  return parsed?.ok && parsed.path === whole ? parsed.path : undefined;
}

/** Whether a memory may have a path. */
export function isFilePath(path: string): boolean {
  return filePathOf(path) !== undefined;
}

/** The directory that a prefix such as `/notes/` names, or undefined if it is invalid. */
export function directoryOf(prefix: string): MemoryPath | undefined {
  if (prefix === '/') return ROOT;
  return prefix.endsWith('/') ? filePathOf(prefix.slice(0, -1)) : undefined;
}

export function shownPath(path: string): string {
  return path.slice(ROOT.length);
}
