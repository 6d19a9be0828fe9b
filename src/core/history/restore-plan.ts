import { timeSliced, timeSlicedSort } from '../lib/time-slice.ts';
import { ancestorPaths, type MemoryPath, parentPath } from '../memory/path.ts';

/** A planned change to a file: its states before and after. A state is null if the file does not exist. */
export interface Target<File extends { path: MemoryPath } = { path: MemoryPath }> {
  memoryId: string;
  from: File | null;
  to: File | null;
}

/** A file with a version's content, or with a text that no version has. */
export interface PlannedFile {
  path: MemoryPath;
  /** Null for a text that no version has. */
  versionId: string | null;
  /** Hexadecimal. */
  sha256: string;
  sizeBytes: number;
}

/** A file to restore to one of its versions or to a merged text, or a copy of a version. */
export type RestoreTarget = Target<PlannedFile>;

export interface DirectoryTargets {
  /** Directories that must exist after the change. */
  wanted: ReadonlySet<MemoryPath>;
  /** Directories to remove if they are empty after the change. */
  unwanted: ReadonlySet<MemoryPath>;
}

export interface Surroundings extends DirectoryTargets {
  /** Kinds of entry at the affected paths, at their ancestors, and directly below each unwanted directory. */
  kinds: ReadonlyMap<MemoryPath, 'file' | 'dir'>;
}

export interface Plan<T extends Target> {
  /** Changes that can be applied together. */
  targets: T[];
  made: MemoryPath[];
  removed: MemoryPath[];
  /** Changes that cannot be applied, because an entry occupies or would occupy the path `blockedBy`. */
  blockedTargets: { target: T; blockedBy: MemoryPath }[];
  blockedDirectories: { path: MemoryPath; blockedBy: MemoryPath }[];
}

/**
 * Selects the changes to a tree that can be applied together, so that the result is a valid tree. If two changes need
 * the same path, the first one gets it. A file that cannot move keeps its path, so changes that need this path are
 * blocked too.
 */
export async function planTree<T extends Target>(
  targets: readonly T[],
  surroundings: Surroundings,
): Promise<Plan<T>> {
  const tree = new PlannedTree(surroundings);
  for await (const path of timeSliced(surroundings.kinds.keys())) tree.add(path);
  for await (const target of timeSliced(targets)) tree.markVacated(target);
  for await (const { memoryId, from, to } of timeSliced(targets))
    if (to !== null) tree.claim({ memoryId, from, to });
  return tree.plan(targets);
}

type Claim = Target & { to: { path: MemoryPath } };

class PlannedTree {
  readonly #around: Surroundings;
  readonly #children = new Map<MemoryPath, MemoryPath[]>();
  /** Paths that files move away from. */
  readonly #vacated = new Set<MemoryPath>();
  readonly #claims = new Map<MemoryPath, Claim>();
  /** Claims by each ancestor directory of their path. */
  readonly #claimsBelow = new Map<MemoryPath, Set<Claim>>();
  /** Occupied paths, by the blocked file's ID. */
  readonly #blocked = new Map<string, MemoryPath>();

  constructor(around: Surroundings) {
    this.#around = around;
  }

  /** Registers a path as its parent directory's child. */
  add(path: MemoryPath): void {
    const parent = parentPath(path);
    if (parent === undefined) return;
    const siblings = this.#children.get(parent);
    if (siblings === undefined) this.#children.set(parent, [path]);
    else siblings.push(path);
  }

  markVacated({ from, to }: Target): void {
    if (from !== null && from.path !== to?.path) this.#vacated.add(from.path);
  }

  claim(claim: Claim): void {
    const { path } = claim.to;
    if (claim.from?.path === path) return;
    const obstacle = this.#findObstacle(path);
    if (obstacle !== undefined) {
      this.#block(claim, obstacle);
      return;
    }
    this.#claims.set(path, claim);
    for (const directory of ancestorPaths(path)) {
      const below = this.#claimsBelow.get(directory) ?? new Set();
      this.#claimsBelow.set(directory, below.add(claim));
    }
  }

  /** Finds the occupied path that prevents a file from moving to `path`. */
  #findObstacle(path: MemoryPath): MemoryPath | undefined {
    const hasClaimsBelow = (this.#claimsBelow.get(path)?.size ?? 0) > 0;
    if (hasClaimsBelow || this.#around.wanted.has(path) || !this.#isFree(path)) return path;
    return this.#fileAbove(path);
  }

  #fileAbove(path: MemoryPath): MemoryPath | undefined {
    return ancestorPaths(path).find((above) => this.#claims.has(above) || this.#staysFile(above));
  }

  #staysFile(path: MemoryPath): boolean {
    return this.#around.kinds.get(path) === 'file' && !this.#vacated.has(path);
  }

  #isFree(path: MemoryPath): boolean {
    if (this.#claims.has(path) || this.#staysFile(path)) return false;
    return this.#around.kinds.get(path) !== 'dir' || this.#isEmptied(path);
  }

  #isEmptied(directory: MemoryPath): boolean {
    if (!this.#around.unwanted.has(directory)) return false;
    const children = this.#children.get(directory) ?? [];
    return children.every((path) =>
      this.#around.kinds.get(path) === 'dir' ? this.#isEmptied(path) : this.#vacated.has(path),
    );
  }

  /** Blocks a claim, and transitively all claims that need the path that its file keeps. */
  #block(first: Claim, blockedBy: MemoryPath): void {
    const pending: [Claim, MemoryPath][] = [[first, blockedBy]];
    for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
      const [claim, obstacle] = next;
      if (this.#blocked.has(claim.memoryId)) continue;
      this.#blocked.set(claim.memoryId, obstacle);
      if (this.#claims.get(claim.to.path) === claim) this.#claims.delete(claim.to.path);
      for (const directory of ancestorPaths(claim.to.path)) this.#claimsBelow.get(directory)?.delete(claim);
      const stays = claim.from?.path;
      if (stays === undefined) continue;
      this.#vacated.delete(stays);
      for (const below of this.#claimsBelow.get(stays) ?? []) pending.push([below, stays]);
      for (const path of [stays, ...ancestorPaths(stays)]) {
        const other = this.#claims.get(path);
        if (other !== undefined) pending.push([other, stays]);
      }
    }
  }

  async plan<T extends Target>(targets: readonly T[]): Promise<Plan<T>> {
    const needed = new Set<MemoryPath>();
    for await (const path of timeSliced(this.#claims.keys()))
      for (const above of ancestorPaths(path)) needed.add(above);
    const blockedDirectories: Plan<T>['blockedDirectories'] = [];
    for await (const path of timeSliced(this.#around.wanted)) {
      const blockedBy = this.#claims.has(path) || this.#staysFile(path) ? path : this.#fileAbove(path);
      if (blockedBy !== undefined) blockedDirectories.push({ path, blockedBy });
      else for (const each of [...ancestorPaths(path), path]) needed.add(each);
    }
    const { kinds, unwanted } = this.#around;
    const removed: MemoryPath[] = [];
    for await (const path of timeSliced(unwanted))
      if (!needed.has(path) && this.#isEmptied(path)) removed.push(path);
    return {
      targets: targets.filter(({ memoryId }) => !this.#blocked.has(memoryId)),
      made: await timeSlicedSort([...needed].filter((path) => kinds.get(path) !== 'dir')),
      removed: await timeSlicedSort(removed),
      blockedTargets: targets.flatMap((target) => {
        const blockedBy = this.#blocked.get(target.memoryId);
        return blockedBy === undefined ? [] : [{ target, blockedBy }];
      }),
      blockedDirectories,
    };
  }
}
