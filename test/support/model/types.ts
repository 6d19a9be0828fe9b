/** What a command answers. */
export interface Result {
  content: string;
  is_error: boolean;
}

/** A tenant's memory: canonical path → a file's content, or null for a directory. Never changed in place. */
export type Tree = ReadonlyMap<string, string | null>;

export interface Limits {
  /** Bytes a file may have. */
  maxFileBytes: number;
}

/** A command that can be run: every field there and of its type, every path canonical. */
export interface Fields {
  path: string;
  old_path: string;
  new_path: string;
  file_text: string;
  old_str: string;
  new_str?: string | null;
  insert_text: string;
  insert_line: number;
  view_range?: [number, number] | null;
}

/** Thrown by the model where the contract has a result that reports a failure. */
export class Failure extends Error {}

export function fail(content: string): never {
  throw new Failure(content);
}

export function bytes(text: string): number {
  return Buffer.byteLength(text, 'utf8');
}

/** Order by Unicode code point, which is the order of the UTF-8 bytes. */
export function byCodePoint(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

export function hex(codePoint: number): string {
  return `U+${codePoint.toString(16).toUpperCase().padStart(4, '0')}`;
}
