import { bytes, fail, hex } from './model-types.ts';

export const ROOT = '/memories';

/** Whether the path contains a `..` segment, even behind backslashes or repeated percent-encoding. */
function hasParentSegment(raw: string): boolean {
  let text = raw;
  for (;;) {
    if (text.split(/[/\\]/).includes('..')) return true;
    const decoded = text.replace(/%([0-9a-f]{2})/gi, (_, code: string) =>
      String.fromCharCode(parseInt(code, 16)),
    );
    if (decoded === text) return false;
    text = decoded;
  }
}

/** Returns the contract's error for the first length limit that the canonical path exceeds, or undefined. */
export function tooLong(path: string): string | undefined {
  if (bytes(path) > 1024) return `Error: Path is too long: ${bytes(path)} bytes (limit 1024)`;
  const segments = path.split('/').slice(2);
  for (const segment of segments) {
    if (bytes(segment) > 255) {
      return `Error: Path is too long: a segment of ${bytes(segment)} bytes (limit 255)`;
    }
  }
  if (segments.length > 20) {
    return `Error: Path is too long: ${segments.length} levels below /memories (limit 20)`;
  }
  return undefined;
}

/** Formats a text as JSON, with invisible characters escaped too. */
function escapeInJson(text: string): string {
  const unit = (i: number, c: string) => `\\u${c.charCodeAt(i).toString(16).padStart(4, '0')}`;
  return JSON.stringify(text).replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, (c) =>
    c.length === 1 ? unit(0, c) : unit(0, c) + unit(1, c),
  );
}

/** Section 1: returns the canonical path, or throws the contract's error. */
export function toCanonical(raw: string): string {
  if (bytes(raw) > 4096) fail(`Error: Path is too long: ${bytes(raw)} bytes (limit 1024)`);
  const segments = raw.split('/').filter((segment) => segment !== '' && segment !== '.');
  if (raw[0] !== '/' || segments[0] !== 'memories')
    fail(`Error: Path must start with /memories, got: ${raw}`);
  if (hasParentSegment(raw)) fail(`Error: Path ${raw} would escape /memories directory`);
  const bad = /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029\\]/u.exec(raw)?.[0];
  if (bad !== undefined) {
    const code = hex(bad.codePointAt(0) ?? 0);
    fail(`Error: Path ${escapeInJson(raw)} contains a character that is not allowed: ${code}`);
  }
  const path = `/${segments.join('/')}`.normalize('NFC');
  const problem = tooLong(path);
  if (problem) fail(problem);
  return path;
}

export function parentDirectoryPath(path: string): string {
  return path.slice(0, path.lastIndexOf('/'));
}

export function lastName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

/** Returns the directories above a path, nearest first, root last. */
export function ancestors(path: string): string[] {
  const all: string[] = [];
  for (let at = path; at !== ROOT; ) {
    at = parentDirectoryPath(at);
    all.push(at);
  }
  return all;
}

export function isBelow(path: string, directory: string): boolean {
  return path.startsWith(`${directory}/`);
}
