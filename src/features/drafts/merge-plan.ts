import {
  type FileConflict,
  keepOriginal,
  type MergedFile,
  type MergedTexts,
  mergeFile,
  type Outcome,
  type Resolution,
  resolveFile,
  takeDraft,
} from '../../core/history/merge-file.ts';
import { type DirectoryTargets, planTree, type Target } from '../../core/history/restore-plan.ts';
import type { SameContent, ThreeWay } from '../../core/history/three-way.ts';
import { timeSliced } from '../../core/lib/time-slice.ts';
import { type MemoryPath, ROOT } from '../../core/memory/path.ts';
import { type BlockedBy, findBlockers } from './blocked-by.ts';
import { isTouched } from './pair-files.ts';
import type { Sides, Tree } from './trees.ts';

/** Reason why a file is not merged. `occupied`: another entry blocks its path. */
export type Conflict = FileConflict | 'occupied';

export interface PlannedChange {
  file: ThreeWay;
  outcome: Outcome;
}

export interface MergePlan {
  changes: PlannedChange[];
  made: MemoryPath[];
  removed: MemoryPath[];
  /** Conflicts by file ID. Conflicting files keep their state in the original. */
  conflicts: Map<string, Conflict>;
  /**
   * Entries that still block a path after this plan, by the blocked file's ID. Includes files without a conflict.
   */
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
 * Plans a merge. A file resolved with `draft` gets its state in the draft. Its blockers, as listed by the plan without
 * resolutions, also get their states in the draft, unless the reviewer resolved them separately. All other files that
 * the draft did not change are kept. A change that would need to move them is a conflict.
 */
export async function planMerge({ resolutions, ...input }: MergeInput): Promise<MergePlan> {
  const { files, same } = input;
  const merged = new Map<ThreeWay, MergedFile>();
  for await (const file of timeSliced(files))
    if (isTouched(file)) merged.set(file, mergeFile(file, same, input.texts));
  const mergedOutcome = (file: ThreeWay) => {
    const found = merged.get(file);
    return found === undefined ? keepOriginal(file) : found.outcome;
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
      if (asInDraft.has(file)) return takeDraft(file, same);
      return resolution === undefined ? mergedOutcome(file) : resolveFile(file, resolution, same);
    },
    { ...changed, unwanted },
  );
}

/**
 * Plans the changes that are possible. A blocked file becomes a conflict, unless the file already has another conflict,
 * which must be resolved first.
 */
async function planAround(
  { sides, files, conflicts }: Pick<MergeInput, 'sides' | 'files'> & Pick<MergePlan, 'conflicts'>,
  decideOutcome: (file: ThreeWay) => Outcome,
  directories: DirectoryTargets,
): Promise<MergePlan> {
  const { changes, made, removed, blocked } = await planOutcomes(
    { sides, files },
    decideOutcome,
    directories,
  );
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

/** Lists the files that still block others after a plan. */
export function blockingFiles({ blockedBy }: MergePlan): ThreeWay[] {
  return [...blockedBy.values()].flatMap(({ files }) => files);
}

/** Plans the changes that make the original identical to the draft. */
export async function planReplacement(
  input: Pick<MergeInput, 'sides' | 'files' | 'same'>,
): Promise<MergePlan> {
  const { sides, same } = input;
  const unwanted = difference(sides.original, sides.draft);
  const plan = await planOutcomes(input, (file) => takeDraft(file, same), {
    wanted: sides.draft.directories,
    unwanted,
  });
  return { ...plan, conflicts: new Map(), blockedBy: new Map() };
}

/** Returns the directories that exist in `one` but not in `other`. */
function difference(one: Tree, other: Tree): Set<MemoryPath> {
  return new Set([...one.directories].filter((path) => !other.directories.has(path)));
}

/** Returns the directories that the draft created (`wanted`) and removed (`unwanted`). */
export function directoryChanges({ base, draft }: Sides) {
  return { wanted: difference(draft, base), unwanted: difference(base, draft) };
}

async function planOutcomes(
  { sides, files }: Pick<MergeInput, 'sides' | 'files'>,
  decideOutcome: (file: ThreeWay) => Outcome,
  directories: DirectoryTargets,
) {
  const targets: (Target & { change: PlannedChange })[] = [];
  for await (const file of timeSliced(files)) {
    const outcome = decideOutcome(file);
    if (isAsIs(file, outcome)) continue;
    targets.push({ memoryId: file.id, from: file.original, to: outcome, change: { file, outcome } });
  }
  const kinds = new Map<MemoryPath, 'file' | 'dir'>();
  for await (const path of timeSliced(sides.original.directories)) kinds.set(path, 'dir');
  for await (const { path } of timeSliced(sides.original.files.values())) kinds.set(path, 'file');
  if (sides.original.hasRoot) kinds.set(ROOT, 'dir');
  // Excludes paths at which the original has a file by now.
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
