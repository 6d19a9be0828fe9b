import { timeSliced, timeSlicedSort } from '../lib/time-slice.ts';
import { ancestorsOf, type MemoryPath, parentOf } from '../memory/path.ts';

/** A planned change of a file; null where the file is not there. */
export interface Target<File extends { path: MemoryPath } = { path: MemoryPath }> {
  memoryId: string;
  from: File | null;
  to: File | null;
}

/** A version of a file with a content. */
export interface PlannedFile {
  path: MemoryPath;
  versionId: string;
  /** In hexadecimal. */
  sha256: string;
  sizeBytes: number;
}

/** A file that becomes like one of its versions, or a copy of a version. */
export type RestoreTarget = Target<PlannedFile>;

/** Planned changes of directories. */
export interface DirectoryTargets {
  /** Directories that are to be there. */
  wanted: ReadonlySet<MemoryPath>;
  /** Directories that are to go, unless something is left in them. */
  unwanted: ReadonlySet<MemoryPath>;
}

export interface Surroundings extends DirectoryTargets {
  /** What is at the paths in question and above them, and directly below each unwanted directory. */
  kinds: ReadonlyMap<MemoryPath, 'file' | 'dir'>;
}

export interface Plan<T extends Target> {
  /** Changes that can be made together. */
  targets: T[];
  /** Directories to make and to remove. */
  made: MemoryPath[];
  removed: MemoryPath[];
  /** What cannot, because of what is at the path `blockedBy`, or would be. */
  blockedTargets: { target: T; blockedBy: MemoryPath }[];
  blockedDirectories: { path: MemoryPath; blockedBy: MemoryPath }[];
}

/**
 * Decides which of many changes of a tree can be made together, so that the result is a tree. Where two of them want
 * the same path, the first one gets it. One that cannot be made stays in the way of others, so these are left out
 * too.
 */
export async function planTree<T extends Target>(
  targets: readonly T[],
  surroundings: Surroundings,
): Promise<Plan<T>> {
  const tree = new PlannedTree(surroundings);
  for await (const path of timeSliced(surroundings.kinds.keys())) tree.add(path);
  for await (const target of timeSliced(targets)) tree.vacate(target);
  for await (const { memoryId, from, to } of timeSliced(targets))
    if (to !== null) tree.claim({ memoryId, from, to });
  return tree.plan(targets);
}

type Claim = Target & { to: { path: MemoryPath } };

class PlannedTree {
  readonly #around: Surroundings;
  readonly #children = new Map<MemoryPath, MemoryPath[]>();
  /** Paths that files leave. */
  readonly #vacated = new Set<MemoryPath>();
  readonly #claims = new Map<MemoryPath, Claim>();
  /** Claims by each directory above them. */
  readonly #claimsBelow = new Map<MemoryPath, Set<Claim>>();
  /** By the file's id: where something else is. */
  readonly #blocked = new Map<string, MemoryPath>();

  constructor(around: Surroundings) {
    this.#around = around;
  }

  /** Adds one of the paths in question to the directory above it. */
  add(path: MemoryPath): void {
    const parent = parentOf(path);
    if (parent === undefined) return;
    const siblings = this.#children.get(parent);
    if (siblings === undefined) this.#children.set(parent, [path]);
    else siblings.push(path);
  }

  vacate({ from, to }: Target): void {
    if (from !== null && from.path !== to?.path) this.#vacated.add(from.path);
  }

  claim(claim: Claim): void {
    const { path } = claim.to;
    if (claim.from?.path === path) return;
    const obstacle = this.#obstacleTo(path);
    if (obstacle !== undefined) {
      this.#block(claim, obstacle);
      return;
    }
    this.#claims.set(path, claim);
    for (const directory of ancestorsOf(path)) {
      const below = this.#claimsBelow.get(directory) ?? new Set();
      this.#claimsBelow.set(directory, below.add(claim));
    }
  }

  /** Where something is that keeps a file from coming to `path`. */
  #obstacleTo(path: MemoryPath): MemoryPath | undefined {
    const hasClaimsBelow = (this.#claimsBelow.get(path)?.size ?? 0) > 0;
    if (hasClaimsBelow || this.#around.wanted.has(path) || !this.#isFree(path)) return path;
    return this.#fileAbove(path);
  }

  #fileAbove(path: MemoryPath): MemoryPath | undefined {
    return ancestorsOf(path).find((above) => this.#claims.has(above) || this.#staysFile(above));
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

  /** Leaves a file where it is, and so those out that count on its path. */
  #block(first: Claim, blockedBy: MemoryPath): void {
    const pending: [Claim, MemoryPath][] = [[first, blockedBy]];
    for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
      const [claim, obstacle] = next;
      if (this.#blocked.has(claim.memoryId)) continue;
      this.#blocked.set(claim.memoryId, obstacle);
      if (this.#claims.get(claim.to.path) === claim) this.#claims.delete(claim.to.path);
      for (const directory of ancestorsOf(claim.to.path)) this.#claimsBelow.get(directory)?.delete(claim);
      const stays = claim.from?.path;
      if (stays === undefined) continue;
      this.#vacated.delete(stays);
      for (const below of this.#claimsBelow.get(stays) ?? []) pending.push([below, stays]);
      for (const path of [stays, ...ancestorsOf(stays)]) {
        const other = this.#claims.get(path);
        if (other !== undefined) pending.push([other, stays]);
      }
    }
  }

  async plan<T extends Target>(targets: readonly T[]): Promise<Plan<T>> {
    const needed = new Set<MemoryPath>();
    for await (const path of timeSliced(this.#claims.keys()))
      for (const above of ancestorsOf(path)) needed.add(above);
    const blockedDirectories: Plan<T>['blockedDirectories'] = [];
    for await (const path of timeSliced(this.#around.wanted)) {
      const blockedBy = this.#claims.has(path) || this.#staysFile(path) ? path : this.#fileAbove(path);
      if (blockedBy !== undefined) blockedDirectories.push({ path, blockedBy });
      else for (const each of [...ancestorsOf(path), path]) needed.add(each);
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
