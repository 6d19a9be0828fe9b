import { directoryNotWritable, pathNotWritable, pathReadOnly, readOnly } from '../memory/messages.ts';
import { type MemoryPath, ROOT } from '../memory/path.ts';
import {
  canChange,
  canChangeAny,
  limitWithin,
  type Right,
  type Rights,
  writableDirectories,
} from '../memory/rights.ts';

/**
 * Returns the error for a write that a caller's rights do not cover; undefined if they cover the write. A write needs the
 * right to everything at and below its paths, whether or not it exists, so the error does not reveal hidden files.
 *
 * @param paths paths that the write changes. No command changes the root, so the root needs no right.
 */
export function rejectedWrite(rights: Rights, paths: readonly MemoryPath[]): string | undefined {
  for (const path of paths) {
    const limit = path === ROOT ? undefined : limitWithin(rights, path);
    if (limit !== undefined) return describeLimit(rights, path, limit);
  }
  return undefined;
}

function describeLimit(rights: Rights, path: MemoryPath, limit: Right): string {
  if (limit.path.length > path.length) return directoryNotWritable(path, limit.path);
  if (!canChangeAny(rights)) return readOnly;
  const describe = limit.access === 'none' ? pathNotWritable : pathReadOnly;
  return describe(limit.path, writableDirectories(rights), canChange(rights, ROOT));
}
