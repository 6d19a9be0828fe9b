declare const canonical: unique symbol;

/** A canonical path: `/memories` or below it, in NFC, without empty, `.`, or `..` segments, and within the limits. */
export type MemoryPath = string & { readonly [canonical]: true };

export const ROOT = '/memories' as MemoryPath;

/**
 * Limits from the contract, section 1. The database has the same limits as CHECK constraints, so that a rename cannot
 * exceed them either.
 */
export const MAX_PATH_BYTES = 1024;
const MAX_SEGMENT_BYTES = 255;
export const MAX_DEPTH = 20;

/**
 * Maximum size of an unnormalized path, in UTF-8 bytes. NFC shrinks a text to a third at most, so every spelling of a
 * valid path fits, with room for repeated slashes and `.` segments. Checked first, because normalization takes
 * quadratic time.
 */
export const MAX_RAW_PATH_BYTES = 4 * MAX_PATH_BYTES;

// Control (Cc), format (Cf), and lone surrogate (Cs) characters, the two Unicode line separators, and the backslash.
const FORBIDDEN_CHARACTER = /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029\\]/u;

/** Fast path for paths that are already canonical, as almost all paths are. */
const PLAIN_PATH = /^\/memories(?:\/[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}){0,14}$/;

/** Reason why a text is not a valid path. `length` is in bytes, or in levels for the depth. */
export type PathProblem =
  | { kind: 'outside' | 'escape'; given: string }
  | { kind: 'character'; given: string; character: string }
  | { kind: 'too_long'; of: 'path' | 'segment' | 'depth'; length: number; limit: number };

export type ParsedPath = { ok: true; path: MemoryPath } | { ok: false; problem: PathProblem };

/**
 * Parses a text into a canonical path, or returns the reason why the text is invalid.
 *
 * The check order (start, escape, characters, length) is from the contract, section 1. A path over `MAX_RAW_PATH_BYTES`
 * is rejected for its length before these checks.
 */
export function parsePath(given: string): ParsedPath {
  if (PLAIN_PATH.test(given)) return { ok: true, path: given as MemoryPath };
  const rawBytes = Buffer.byteLength(given);
  if (rawBytes > MAX_RAW_PATH_BYTES) return reject(tooLong('path', rawBytes, MAX_PATH_BYTES));
  const segments = given.split('/').filter((segment) => segment !== '' && segment !== '.');
  if (!given.startsWith('/') || segments[0] !== 'memories') {
    return reject({ kind: 'outside', given });
  }
  if (hasParentSegment(given)) return reject({ kind: 'escape', given });

  const forbidden = FORBIDDEN_CHARACTER.exec(given);
  if (forbidden) return reject({ kind: 'character', given, character: forbidden[0] });

  const path = `/${segments.join('/')}`.normalize('NFC') as MemoryPath;
  const problem = lengthProblem(path);
  return problem === undefined ? { ok: true, path } : reject(problem);
}

/** Returns the length limit that a canonical path exceeds, or undefined. */
export function lengthProblem(path: string): PathProblem | undefined {
  const bytes = Buffer.byteLength(path);
  if (bytes > MAX_PATH_BYTES) return tooLong('path', bytes, MAX_PATH_BYTES);
  const names = path.split('/').slice(2);
  for (const name of names) {
    const nameBytes = Buffer.byteLength(name);
    if (nameBytes > MAX_SEGMENT_BYTES) return tooLong('segment', nameBytes, MAX_SEGMENT_BYTES);
  }
  if (names.length > MAX_DEPTH) return tooLong('depth', names.length, MAX_DEPTH);
  return undefined;
}

/** Returns the parent directory; undefined for the root. */
export function parentPath(path: MemoryPath): MemoryPath | undefined {
  return path === ROOT ? undefined : (path.slice(0, path.lastIndexOf('/')) as MemoryPath);
}

/** Returns all directories above `path`, beginning with the root. Empty for the root. */
export function ancestorPaths(path: MemoryPath): MemoryPath[] {
  const ancestors: MemoryPath[] = [];
  for (let parent = parentPath(path); parent !== undefined; parent = parentPath(parent))
    ancestors.unshift(parent);
  return ancestors;
}

/** Whether a path is a directory's or below it. Both are canonical. */
export function isWithin(path: string, directory: string): boolean {
  // Builds no string, because rights compare each request's path with many directories.
  return path.startsWith(directory) && (path.length === directory.length || path[directory.length] === '/');
}

function reject(problem: PathProblem): ParsedPath {
  return { ok: false, problem };
}

function tooLong(of: 'path' | 'segment' | 'depth', length: number, limit: number): PathProblem {
  return { kind: 'too_long', of, length, limit };
}

/** Whether a path has a `..` segment, with `/` or `\` as the separator, after repeated percent-decoding. */
function hasParentSegment(given: string): boolean {
  if (!given.includes('..') && !given.includes('%')) return false;
  return percentDecodeFully(given).split(/[/\\]/).includes('..');
}

/**
 * Decodes `%XX` repeatedly in a single pass. A decoded character may complete another `%XX`, so each character is
 * checked together with the preceding ones. Repeated passes would take quadratic time for `%252525…`. Bytes above 0x7F
 * become Latin-1 characters, which suffices to find `.`, `/`, and `\`.
 */
function percentDecodeFully(given: string): string {
  const decoded: string[] = [];
  for (const character of given) {
    decoded.push(character);
    while (decoded.at(-3) === '%') {
      const hex = decoded.slice(-2).join('');
      if (!/^[0-9a-f]{2}$/i.test(hex)) break;
      decoded.length -= 3;
      decoded.push(String.fromCharCode(Number.parseInt(hex, 16)));
    }
  }
  return decoded.join('');
}
