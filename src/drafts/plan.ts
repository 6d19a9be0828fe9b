import { type DirectoryTargets, planTree, type Target } from '../history/plan.ts';
import { timeSliced } from '../lib/time-slice.ts';
import { type MemoryPath, ROOT } from '../memory/path.ts';
import { type BlockedBy, findBlockers } from './blocked-by.ts';
import {
  asDraft,
  type FileConflict,
  type MergedFile,
  type MergedTexts,
  mergeFile,
  type Outcome,
  type Resolution,
  resolveFile,
  stay,
} from './merge-file.ts';
import { isTouched, type SameContent, type ThreeWay } from './three-way.ts';
import type { Sides, Tree } from './trees.ts';

/** Why a file is not merged. `occupied`: its path is blocked. */
export type Conflict = FileConflict | 'occupied';

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
  /** What is not resolved, by the ids of the files; these stay as the original has them. */
  conflicts: Map<string, Conflict>;
  /** Blockers that this plan leaves in place, by the ids of the blocked files, whether or not they conflict. */
  blockedBy: Map<string, BlockedBy>;
}

export interface MergeInput {
  sides: Sides;
  files: readonly ThreeWay[];
  same: SameContent;
  texts: MergedTexts;
  resolutions: ReadonlyMap<string, Resolution>;
}

/**
 * Plans a merge. A file that is resolved with `draft` becomes what it is in the draft, and so do the files that the
 * plan without resolutions shows as its blockers, unless they are resolved differently. Nothing else that the draft
 * did not change is touched: if it would have to be, that is a conflict.
 */
export async function planMerge({ resolutions, ...input }: MergeInput): Promise<MergePlan> {
  const { files, same } = input;
  const merged = new Map<ThreeWay, MergedFile>();
  for await (const file of timeSliced(files))
    if (isTouched(file)) merged.set(file, mergeFile(file, same, input.texts));
  const mergedOutcome = (file: ThreeWay) => {
    const found = merged.get(file);
    return found === undefined ? stay(file) : found.outcome;
  };
  const conflicts = new Map<string, Conflict>();
  for await (const [file, { conflict }] of timeSliced(merged))
    if (conflict !== null) conflicts.set(file.id, conflict);
  const changed = directoryChanges(input.sides);
  const unresolved = await planAround({ ...input, conflicts }, mergedOutcome, changed);
  if (resolutions.size === 0) return unresolved;

  const asInDraft = new Set<ThreeWay>();
  const unwanted = new Set(changed.unwanted);
  for await (const file of timeSliced(merged.keys())) {
    if (resolutions.get(file.id) !== 'draft') continue;
    asInDraft.add(file);
    const blockedBy = unresolved.blockedBy.get(file.id);
    for (const each of blockedBy?.files ?? []) if (!resolutions.has(each.id)) asInDraft.add(each);
    for (const path of blockedBy?.directories ?? []) unwanted.add(path);
  }
  for (const { id } of asInDraft) conflicts.delete(id);
  for (const id of resolutions.keys()) conflicts.delete(id);
  return planAround(
    { ...input, conflicts },
    (file) => {
      const resolution = resolutions.get(file.id);
      if (asInDraft.has(file)) return asDraft(file, same);
      return resolution === undefined ? mergedOutcome(file) : resolveFile(file, resolution, same);
    },
    { ...changed, unwanted },
  );
}

/** Plans what can be done; what is blocked is a conflict, unless there is one already: that one is to be resolved. */
async function planAround(
  { sides, files, conflicts }: Pick<MergeInput, 'sides' | 'files'> & Pick<MergePlan, 'conflicts'>,
  outcomeOf: (file: ThreeWay) => Outcome,
  directories: DirectoryTargets,
): Promise<MergePlan> {
  const { changes, made, removed, blocked } = await planOutcomes({ sides, files }, outcomeOf, directories);
  const leaving = new Set<ThreeWay>();
  for await (const { file, outcome } of timeSliced(changes))
    if (outcome?.path !== file.original?.path) leaving.add(file);
  const blockedBy = await findBlockers(files.filter(isTouched), {
    files: files.filter((file) => !leaving.has(file)),
    directories: sides.original.directories,
    unwanted: directories.unwanted,
  });
  const left = new Map<string, Conflict>(blocked.map(({ id }) => [id, 'occupied']));
  return { changes, made, removed, blockedBy, conflicts: new Map([...left, ...conflicts]) };
}

/** Returns the files that block others after a plan. */
export function blockingFiles({ blockedBy }: MergePlan): ThreeWay[] {
  return [...blockedBy.values()].flatMap(({ files }) => files);
}

/** Plans to make the original identical to the draft. */
export async function planReplacement(
  input: Pick<MergeInput, 'sides' | 'files' | 'same'>,
): Promise<MergePlan> {
  const { sides, same } = input;
  const unwanted = difference(sides.original, sides.draft);
  const plan = await planOutcomes(input, (file) => asDraft(file, same), {
    wanted: sides.draft.directories,
    unwanted,
  });
  return { ...plan, conflicts: new Map(), blockedBy: new Map() };
}

/** The directories of one side that another has not. */
function difference(one: Tree, other: Tree): Set<MemoryPath> {
  return new Set([...one.directories].filter((path) => !other.directories.has(path)));
}

/** The directories that the draft made and removed. */
export function directoryChanges({ base, draft }: Sides) {
  return { wanted: difference(draft, base), unwanted: difference(base, draft) };
}

async function planOutcomes(
  { sides, files }: Pick<MergeInput, 'sides' | 'files'>,
  outcomeOf: (file: ThreeWay) => Outcome,
  directories: DirectoryTargets,
) {
  const targets: (Target & { change: PlannedChange })[] = [];
  for await (const file of timeSliced(files)) {
    const outcome = outcomeOf(file);
    if (isAsIs(file, outcome)) continue;
    targets.push({ memoryId: file.id, from: file.original, to: outcome, change: { file, outcome } });
  }
  const kinds = new Map<MemoryPath, 'file' | 'dir'>();
  for await (const path of timeSliced(sides.original.directories)) kinds.set(path, 'dir');
  for await (const { path } of timeSliced(sides.original.files.values())) kinds.set(path, 'file');
  if (sides.original.hasRoot) kinds.set(ROOT, 'dir');
  // The original may have a file there by now.
  const unwanted = new Set([...directories.unwanted].filter((path) => kinds.get(path) === 'dir'));
  const plan = await planTree(targets, { ...directories, unwanted, kinds });
  return {
    changes: plan.targets.map(({ change }) => change),
    made: plan.made,
    removed: plan.removed,
    blocked: plan.blockedTargets.map(({ target }) => target.change.file),
  };
}

function isAsIs({ original }: ThreeWay, outcome: Outcome): boolean {
  if (original === null || outcome === null) return original === outcome;
  return outcome.content === 'keep' && outcome.path === original.path;
}
