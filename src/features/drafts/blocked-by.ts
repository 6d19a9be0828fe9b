import type { ThreeWay } from '../../core/history/three-way.ts';
import { timeSliced, timeSlicedSort } from '../../core/lib/time-slice.ts';
import { ancestorPaths, type MemoryPath } from '../../core/memory/path.ts';

/** Entries in the original that occupy a draft file's path. */
export interface BlockedBy {
  /**
   * Path to the blocking file, which is at the blocked path or above it, or to the blocking directory at the blocked
   * path.
   */
  path: MemoryPath;
  /** The blocking file, or all files in the blocking directory, ordered by path. */
  files: ThreeWay[];
  /** The blocking directory and its subdirectories. */
  directories: MemoryPath[];
}

/** Entries in the original that a merge keeps at their paths. */
export interface Remaining {
  files: Iterable<ThreeWay>;
  /** All directories in the original. */
  directories: Iterable<MemoryPath>;
  /** Directories to remove if the merge empties them. */
  unwanted: ReadonlySet<MemoryPath>;
}

/**
 * Finds the entries that block the paths of files in the draft. The lists' total length is bounded by the memory size:
 * each file has at most one file above its path, and no two files in a draft share descendants.
 */
export async function findBlockers(
  files: Iterable<ThreeWay>,
  remaining: Remaining,
): Promise<Map<string, BlockedBy>> {
  const obstacles = await Obstacles.collect(remaining);
  const found = new Map<string, BlockedBy>();
  for await (const file of timeSliced(files)) {
    const blockedBy = obstacles.to(file);
    if (blockedBy !== null) found.set(file.id, blockedBy);
  }
  return found;
}

class Obstacles {
  readonly #files: ReadonlyMap<MemoryPath, ThreeWay>;
  readonly #filePaths: MemoryPath[];
  readonly #directories: MemoryPath[];
  readonly #unwanted: ReadonlySet<MemoryPath>;

  private constructor(
    files: ReadonlyMap<MemoryPath, ThreeWay>,
    filePaths: MemoryPath[],
    directories: MemoryPath[],
    unwanted: ReadonlySet<MemoryPath>,
  ) {
    this.#files = files;
    this.#filePaths = filePaths;
    this.#directories = directories;
    this.#unwanted = unwanted;
  }

  static async collect({ files, directories, unwanted }: Remaining): Promise<Obstacles> {
    const byPath = new Map<MemoryPath, ThreeWay>();
    for await (const file of timeSliced(files))
      if (file.original !== null) byPath.set(file.original.path, file);
    const filePaths = await timeSlicedSort([...byPath.keys()]);
    return new Obstacles(byPath, filePaths, await timeSlicedSort([...directories]), unwanted);
  }

  to(file: ThreeWay): BlockedBy | null {
    if (file.draft === null || file.draft.path === file.original?.path) return null;
    const { path } = file.draft;
    for (const above of [path, ...ancestorPaths(path)]) {
      const other = this.#files.get(above);
      if (other !== undefined && other !== file) return { path: above, files: [other], directories: [] };
    }
    const files = pathsWithin(this.#filePaths, path)
      .flatMap((each) => this.#files.get(each) ?? [])
      .filter((each) => each !== file);
    const directories = pathsWithin(this.#directories, path);
    if (files.length === 0 && directories.every((each) => this.#unwanted.has(each))) return null;
    return { path, files, directories };
  }
}

/** Filters sorted paths to those at or below `path`. */
function pathsWithin(sorted: readonly MemoryPath[], path: MemoryPath): MemoryPath[] {
  const found: MemoryPath[] = [];
  const prefix = `${path}/`;
  if (sorted[firstFrom(sorted, path)] === path) found.push(path);
  for (let i = firstFrom(sorted, prefix); sorted[i]?.startsWith(prefix); i++) {
    found.push(sorted[i] as MemoryPath);
  }
  return found;
}

function firstFrom(sorted: readonly string[], path: string): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] ?? '') < path) low = middle + 1;
    else high = middle;
  }
  return low;
}
