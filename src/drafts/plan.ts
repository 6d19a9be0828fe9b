import { planTree, type Target } from '../history/plan.ts';
import { ancestorsOf, type MemoryPath, ROOT } from '../memory/path.ts';
import {
  asDraft,
  type FileConflict,
  type MergedTexts,
  mergeFile,
  type Outcome,
  type Resolution,
  settleFile,
  stay,
} from './merge-file.ts';
import { isTouched, type SameContent, type ThreeWay } from './three-way.ts';
import type { Sides, Tree } from './trees.ts';

/** Why a file is not merged: `occupied`, something else is at its path, or in the way of it, at `at`. */
export type Conflict = { kind: FileConflict; at: null } | { kind: 'occupied'; at: MemoryPath };

/** A file that changes, and what it becomes. */
export interface PlannedChange {
  file: ThreeWay;
  outcome: Outcome;
}

export interface MergePlan {
  changes: PlannedChange[];
  /** Directories to make and to remove. */
  made: MemoryPath[];
  removed: MemoryPath[];
  /** What the resolutions do not settle, by the ids of the files; these stay as the original has them. */
  conflicts: Map<string, Conflict>;
  /** The files that are in the way of a conflict. */
  inTheWay: ThreeWay[];
}

export interface MergeInput {
  sides: Sides;
  files: readonly ThreeWay[];
  same: SameContent;
  texts: MergedTexts;
  resolutions: ReadonlyMap<string, Resolution>;
}

/**
 * Plans a merge. A file that is settled by `draft` becomes what the draft has, and so does what is in its way: a file that the draft does not
 * have goes.
 */
export function planMerge(input: MergeInput): MergePlan {
  const { files, same, texts, resolutions } = input;
  const conflicts = new Map<string, Conflict>();
  const merged = new Map<ThreeWay, Outcome>();
  const forced = new Set<ThreeWay>();
  for (const file of files) {
    if (!isTouched(file)) continue;
    const resolution = resolutions.get(file.id);
    const { outcome, conflict } = mergeFile(file, same, texts);
    if (resolution === 'draft') forced.add(file);
    else if (resolution !== undefined) merged.set(file, settleFile(file, resolution, same));
    else {
      if (conflict !== null) conflicts.set(file.id, { kind: conflict, at: null });
      merged.set(file, outcome);
    }
  }
  const outcomeOf = (file: ThreeWay) =>
    forced.has(file) ? asDraft(file, same) : merged.has(file) ? (merged.get(file) ?? null) : stay(file);
  for (;;) {
    // Those that are settled come last, so that what is in their way is found, whatever the order of the files.
    const inOrder = [...files.filter((file) => !forced.has(file)), ...forced];
    const plan = planOutcomes({ sides: input.sides, files: inOrder }, outcomeOf);
    const obstacles = new Obstacles(files, outcomeOf, new Set(plan.blocked.map(({ file }) => file)));
    const cleared = plan.blocked
      .filter(({ file }) => forced.has(file))
      .flatMap(({ file, path }) => obstacles.to(file, path))
      .filter((file) => !forced.has(file));
    // Each round forces more files. In the end all are as in the draft, where nothing is in the way of anything.
    if (cleared.length === 0) {
      for (const { file, blockedBy } of plan.blocked) {
        // The conflict that was there first is the one to settle.
        if (!conflicts.has(file.id)) conflicts.set(file.id, { kind: 'occupied', at: blockedBy });
      }
      const inTheWay = plan.blocked.flatMap(({ file, path }) => obstacles.to(file, path));
      return { ...plan, conflicts, inTheWay };
    }
    for (const file of cleared) forced.add(file);
  }
}

/** Plans to make the original exactly what the draft is. */
export function planReplacement(input: Pick<MergeInput, 'sides' | 'files' | 'same'>): MergePlan {
  const { sides, same } = input;
  const unwanted = difference(sides.original, sides.draft);
  const plan = planOutcomes(input, (file) => asDraft(file, same), {
    wanted: sides.draft.directories,
    unwanted,
  });
  return { ...plan, conflicts: new Map(), inTheWay: [] };
}

/** The directories of one side that another has not. */
function difference(one: Tree, other: Tree): Set<MemoryPath> {
  return new Set([...one.directories].filter((path) => !other.directories.has(path)));
}

/** The directories that the draft made and removed. */
export function directoryChanges({ base, draft }: Sides) {
  return { wanted: difference(draft, base), unwanted: difference(base, draft) };
}

function planOutcomes(
  { sides, files }: Pick<MergeInput, 'sides' | 'files'>,
  outcomeOf: (file: ThreeWay) => Outcome,
  directories = directoryChanges(sides),
) {
  const byTarget = new Map<string, PlannedChange>();
  const targets: Target[] = [];
  for (const file of files) {
    const outcome = outcomeOf(file);
    if (isAsIs(file, outcome)) continue;
    byTarget.set(file.id, { file, outcome });
    const now = file.original === null ? null : { ...file.original, sha256: '' };
    const past = outcome === null ? null : { path: outcome.path, versionId: '', sha256: '' };
    targets.push({ memoryId: file.id, now, past });
  }
  const kinds = new Map<MemoryPath, 'file' | 'dir'>();
  for (const path of sides.original.directories) kinds.set(path, 'dir');
  for (const { path } of sides.original.files.values()) kinds.set(path, 'file');
  if (sides.original.hasRoot) kinds.set(ROOT, 'dir');
  const unwanted = new Set([...directories.unwanted].filter((path) => kinds.has(path)));
  const plan = planTree(targets, { ...directories, unwanted, kinds });
  const changeFor = ({ memoryId }: Target) => byTarget.get(memoryId);
  return {
    changes: plan.targets.flatMap((target) => changeFor(target) ?? []),
    made: plan.made,
    removed: plan.removed,
    blocked: plan.blockedTargets.flatMap(({ target, blockedBy }) => {
      const change = changeFor(target);
      return change?.outcome ? [{ file: change.file, path: change.outcome.path, blockedBy }] : [];
    }),
  };
}

function isAsIs({ original }: ThreeWay, outcome: Outcome): boolean {
  if (original === null || outcome === null) return original === outcome;
  return outcome.content === 'keep' && outcome.path === original.path;
}

/** Finds which files are in the way of one at a path: those that stay or come there, above it, or below it. */
class Obstacles {
  readonly #at = new Map<string, ThreeWay[]>();
  readonly #paths: string[];

  /** @param blocked those that stay although they should not */
  constructor(
    files: readonly ThreeWay[],
    outcomeOf: (file: ThreeWay) => Outcome,
    blocked: ReadonlySet<ThreeWay>,
  ) {
    for (const file of files) {
      const stays = blocked.has(file) ? file.original?.path : undefined;
      for (const path of new Set([outcomeOf(file)?.path, stays])) {
        if (path !== undefined) this.#at.set(path, [...(this.#at.get(path) ?? []), file]);
      }
    }
    this.#paths = [...this.#at.keys()].sort();
  }

  to(file: ThreeWay, path: MemoryPath): ThreeWay[] {
    const found = [path, ...ancestorsOf(path)].flatMap((each) => this.#at.get(each) ?? []);
    const prefix = `${path}/`;
    for (let i = this.#firstFrom(prefix); this.#paths[i]?.startsWith(prefix); i++) {
      found.push(...(this.#at.get(this.#paths[i] ?? '') ?? []));
    }
    return [...new Set(found)].filter((each) => each !== file);
  }

  #firstFrom(path: string): number {
    let [low, high] = [0, this.#paths.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#paths[middle] ?? '') < path) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
