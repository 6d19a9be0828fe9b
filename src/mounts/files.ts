import type { Mount } from '../memory/mount.ts';
import { mountAt } from '../memory/mount.ts';
import { type MemoryPath, ROOT } from '../memory/path.ts';
import type { FileSource } from '../search/files.ts';
import type { SearchedFile } from '../search/query.ts';
import { innerPath, outerPath } from './mounted-store.ts';

/** The files of a mounted memory, as the caller sees them. */
export function mountedFiles(files: FileSource, seenAt: MemoryPath): FileSource {
  return {
    page: async (path, after) => {
      const innerAfter = after === '' ? '' : innerPath(after as MemoryPath, seenAt);
      const page = await files.page(innerPath(path, seenAt), innerAfter);
      return page.map((file) => ({ ...file, path: outerPath(file.path, seenAt) }));
    },
    has: (path) => files.has(innerPath(path, seenAt)),
  };
}

/** A mount that can be read. */
export interface MountedFiles {
  directory: MemoryPath;
  files: FileSource;
}

/**
 * All files that the caller sees, in the order of their paths: its own, except those that mounts hide, and those of mounts.
 *
 * @param mounts all of them
 * @param available those that can be read
 */
export function filesWithMounts(
  own: FileSource,
  mounts: readonly Mount[],
  available: readonly MountedFiles[],
): FileSource {
  const parts = available
    .map(({ directory, files }) => ({
      directory,
      files,
      start: `${directory}/`,
      end: `${directory}/\u{10FFFF}`,
    }))
    .sort((one, other) => compare(one.start, other.start));

  /** The own files after a path and before another one. */
  const ownPage = async (after: string, until: string | undefined): Promise<SearchedFile[]> => {
    for (let last = after; ; ) {
      const page = await own.page(ROOT, last);
      const before = until === undefined ? page : page.filter(({ path }) => compare(path, until) < 0);
      const seen = before.filter(({ path }) => mountAt(path as MemoryPath, mounts) === undefined);
      if (seen.length > 0 || before.length === 0 || before.length < page.length) return seen;
      last = page.at(-1)?.path ?? last;
    }
  };

  const page = async (_: MemoryPath, after: string): Promise<SearchedFile[]> => {
    for (let last = after; ; ) {
      const part = parts.find(({ start, end }) => last.startsWith(start) && last !== end);
      if (part !== undefined) {
        const found = await part.files.page(part.directory, last === part.start ? '' : last);
        if (found.length > 0) return found;
        last = part.end;
      }
      const next = parts.find(({ start }) => compare(last, start) < 0);
      const found = await ownPage(last, next?.start);
      if (found.length > 0 || next === undefined) return found;
      last = next.start;
    }
  };
  return { page, has: async (path) => path === ROOT || own.has(path) };
}

/** By code point, as the database sorts. */
function compare(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other));
}
