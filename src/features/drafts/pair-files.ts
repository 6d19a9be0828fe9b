import type { SideFile, ThreeWay } from '../../core/history/three-way.ts';
import { timeSliced } from '../../core/lib/time-slice.ts';
import type { MemoryPath } from '../../core/memory/path.ts';
import type { Sides } from './trees.ts';

/**
 * Matches the files on the three sides by file ID. A file that replaced a deleted file at the same path is matched with
 * the deleted file, because deleting and creating a file again is a change to the file. Files that both sides added at
 * the same path are also matched.
 */
export async function pairFiles({
  base,
  draft,
  original,
}: Pick<Sides, 'base' | 'draft' | 'original'>): Promise<ThreeWay[]> {
  const files: ThreeWay[] = [];
  const newInDraft = await findAddedFiles(draft.files, base.files);
  const newInOriginal = await findAddedFiles(original.files, base.files);
  for await (const [memoryId, file] of timeSliced(base.files)) {
    files.push(
      addFileId({
        base: file,
        draft: draft.files.get(memoryId) ?? take(newInDraft, file.path),
        original: original.files.get(memoryId) ?? take(newInOriginal, file.path),
      }),
    );
  }
  // Files missing from the base are matched by ID first, because a file can have the same ID in the draft and in the
  // original. The other files are matched by path.
  const byId = new Map<string, SideFile>();
  for await (const file of timeSliced(newInOriginal.values())) byId.set(file.memoryId, file);
  for await (const file of timeSliced(newInDraft.values())) {
    const same = byId.get(file.memoryId) ?? newInOriginal.get(file.path) ?? null;
    if (same !== null) newInOriginal.delete(same.path);
    files.push(addFileId({ base: null, draft: file, original: same }));
  }
  for await (const file of timeSliced(newInOriginal.values()))
    files.push(addFileId({ base: null, draft: null, original: file }));
  return files;
}

/** Returns the files that are missing from the base, keyed by path. */
async function findAddedFiles(files: ReadonlyMap<string, SideFile>, base: ReadonlyMap<string, SideFile>) {
  const found = new Map<MemoryPath, SideFile>();
  for await (const [memoryId, file] of timeSliced(files)) if (!base.has(memoryId)) found.set(file.path, file);
  return found;
}

function take(from: Map<MemoryPath, SideFile>, path: MemoryPath): SideFile | null {
  const file = from.get(path) ?? null;
  from.delete(path);
  return file;
}

function addFileId(sides: Omit<ThreeWay, 'id'>): ThreeWay {
  return { id: (sides.original ?? sides.draft ?? sides.base)?.memoryId ?? '', ...sides };
}

/**
 * Whether the draft created, deleted, or wrote a version of the file. The content may still be the same as in the base.
 */
export function isTouched({ base, draft }: ThreeWay): boolean {
  return base?.versionId !== draft?.versionId;
}
