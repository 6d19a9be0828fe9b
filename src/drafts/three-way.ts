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
 * Finds each file on the three sides, by its identity. Two files also count as one if one was deleted and the other created at its path,
 * since deleting a file and creating it again changes it. So do two files that both sides added at the same path.
 */
export function pairFiles({ base, draft, original }: Pick<Sides, 'base' | 'draft' | 'original'>): ThreeWay[] {
  const files: ThreeWay[] = [];
  const newInDraft = comers(draft.files, base.files);
  const newInOriginal = comers(original.files, base.files);
  for (const [memoryId, file] of base.files) {
    files.push(
      named({
        base: file,
        draft: draft.files.get(memoryId) ?? take(newInDraft, file.path),
        original: original.files.get(memoryId) ?? take(newInOriginal, file.path),
      }),
    );
  }
  // A file that came back in the original, or went there from the draft of a time before, has one identity on both sides.
  const byId = new Map([...newInOriginal.values()].map((file) => [file.memoryId, file]));
  for (const file of newInDraft.values()) {
    const same = byId.get(file.memoryId) ?? newInOriginal.get(file.path) ?? null;
    if (same !== null) newInOriginal.delete(same.path);
    files.push(named({ base: null, draft: file, original: same }));
  }
  for (const file of newInOriginal.values()) files.push(named({ base: null, draft: null, original: file }));
  return files;
}

/** The files that were not in the base, by their paths. */
function comers(files: ReadonlyMap<string, SideFile>, base: ReadonlyMap<string, SideFile>) {
  const found = new Map<MemoryPath, SideFile>();
  for (const [memoryId, file] of files) if (!base.has(memoryId)) found.set(file.path, file);
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
