import { timeSliced } from '../lib/time-slice.ts';
import type { MemoryPath } from '../memory/path.ts';
import type { SideFile, Sides } from './trees.ts';

/** A file on the three sides; null where it is not there. */
export interface ThreeWay {
  /** Names it: the id in the original where there is one, else that of the draft. */
  id: string;
  base: SideFile | null;
  draft: SideFile | null;
  original: SideFile | null;
}

/**
 * Finds each file on the three sides, by its identity. Two files also count as one if one was deleted and the other
 * created at its path, since deleting a file and creating it again changes it. So do two files that both sides added
 * at the same path.
 */
export async function pairFiles({
  base,
  draft,
  original,
}: Pick<Sides, 'base' | 'draft' | 'original'>): Promise<ThreeWay[]> {
  const files: ThreeWay[] = [];
  const newInDraft = await comers(draft.files, base.files);
  const newInOriginal = await comers(original.files, base.files);
  for await (const [memoryId, file] of timeSliced(base.files)) {
    files.push(
      named({
        base: file,
        draft: draft.files.get(memoryId) ?? take(newInDraft, file.path),
        original: original.files.get(memoryId) ?? take(newInOriginal, file.path),
      }),
    );
  }
  // A file that came back in the original, or went there from the draft of a time before, has one identity on both
  // sides.
  const byId = new Map<string, SideFile>();
  for await (const file of timeSliced(newInOriginal.values())) byId.set(file.memoryId, file);
  for await (const file of timeSliced(newInDraft.values())) {
    const same = byId.get(file.memoryId) ?? newInOriginal.get(file.path) ?? null;
    if (same !== null) newInOriginal.delete(same.path);
    files.push(named({ base: null, draft: file, original: same }));
  }
  for await (const file of timeSliced(newInOriginal.values()))
    files.push(named({ base: null, draft: null, original: file }));
  return files;
}

/** The files that were not in the base, by their paths. */
async function comers(files: ReadonlyMap<string, SideFile>, base: ReadonlyMap<string, SideFile>) {
  const found = new Map<MemoryPath, SideFile>();
  for await (const [memoryId, file] of timeSliced(files)) if (!base.has(memoryId)) found.set(file.path, file);
  return found;
}

function take(from: Map<MemoryPath, SideFile>, path: MemoryPath): SideFile | null {
  const file = from.get(path) ?? null;
  from.delete(path);
  return file;
}

function named(sides: Omit<ThreeWay, 'id'>): ThreeWay {
  return { id: (sides.original ?? sides.draft ?? sides.base)?.memoryId ?? '', ...sides };
}

/** What happened to a file on one side. A `moved` file may also have a changed content. */
export type ChangeKind = 'added' | 'changed' | 'moved' | 'deleted';

export type SameContent = (a: SideFile, b: SideFile) => boolean;

/** What a side did with a file since the base; null for nothing. */
export function changeOf(base: SideFile | null, side: SideFile | null, same: SameContent): ChangeKind | null {
  if (base === null) return side === null ? null : 'added';
  if (side === null) return 'deleted';
  if (side.path !== base.path) return 'moved';
  return same(base, side) ? null : 'changed';
}

/** Whether the draft may have changed the file: it wrote a version of it, made it, or deleted it. */
export function isTouched({ base, draft }: ThreeWay): boolean {
  return base?.versionId !== draft?.versionId;
}
