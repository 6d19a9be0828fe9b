import { lengthProblem, MAX_PATH_BYTES, type MemoryPath, parentPath, ROOT } from '../../core/memory/path.ts';
import { findOccurrences } from '../../core/memory/text-changes.ts';
import { comparedUnits, containsText, type SoughtText, soughtUnits } from './compared-text.ts';
import { eraseText } from './erase-text.ts';

/*
 * New names for files and directories whose paths contain an erased text. Only the last name in a path changes, so that
 * the tree keeps its structure: the directories above it are renamed first.
 */

/** Names that replace the text, in order of preference. Later names are for texts that occur in the first name. */
const WORDS = ['erased', 'removed', 'x', '_'];
const MAX_NUMBER = 100_000;
/** Length of `/memories/`, which no erasure changes. */
const KEPT = ROOT.length + 1;

/** Whether a path contains the text beyond `/memories/`. */
export function pathContains(path: string, erased: SoughtText): boolean {
  const { units, originEnd } = comparedUnits(path, erased);
  const sought = soughtUnits(erased);
  return findOccurrences(sought, units).some((offset) => originEnd(offset + sought.length - 1) > KEPT);
}

/** Returns the paths to rename, in an order in which each directory precedes its contents. */
export function pathsToRename(hits: Iterable<MemoryPath>, erased: SoughtText): MemoryPath[] {
  const paths = new Set<MemoryPath>();
  for (const hit of hits) {
    if (pathContains(hit, erased)) paths.add(hit);
    // If the text ends with a slash, the directory's own path does not contain the text.
    const parent = parentPath(hit);
    if (soughtUnits(erased).endsWith('/') && parent !== undefined && pathContains(`${parent}/`, erased))
      paths.add(parent);
  }
  return [...paths].sort();
}

/**
 * Yields names for an entry, the best first. The path to its directory does not contain the text.
 *
 * @param longest maximum path size in bytes at or below the entry
 */
export function* listErasedPaths(
  path: MemoryPath,
  erased: SoughtText,
  longest: number,
): Generator<MemoryPath> {
  const parent = parentPath(path);
  if (parent === undefined) return;
  const below = longest - Buffer.byteLength(path);
  for (const word of WORDS) {
    for (let number = 1; number <= MAX_NUMBER; number++) {
      const part = number === 1 ? word : `${word}-${number}`;
      const renamed = erasePath(parent, path.slice(parent.length + 1), erased, part, MAX_PATH_BYTES - below);
      if (renamed === undefined) break;
      yield renamed;
    }
  }
}

/** Returns undefined if the path would still contain the text, or would be too long. */
function erasePath(
  parent: MemoryPath,
  name: string,
  erased: SoughtText,
  part: string,
  maxBytes: number,
): MemoryPath | undefined {
  if (containsText(part, erased)) return undefined;
  // A text with a slash spans several names. The last name is then replaced as a whole.
  const names = [eraseText(name, erased, part).normalize('NFC'), part];
  return names
    .filter((each) => each !== name)
    .map((each) => `${parent}/${each}` as MemoryPath)
    .find(
      (path) =>
        !pathContains(`${path}/`, erased) &&
        lengthProblem(path) === undefined &&
        Buffer.byteLength(path) <= maxBytes,
    );
}

/** Returns a path without the text, for a version whose file is at another path now. */
export function cleanPath(path: MemoryPath, erased: SoughtText): MemoryPath {
  let clean = ROOT;
  for (const name of path.slice(KEPT).split('/')) {
    const next = `${clean}/${name}` as MemoryPath;
    const [renamed = next] = pathContains(`${next}/`, erased) ? listErasedPaths(next, erased, 0) : [];
    clean = renamed;
  }
  return clean;
}
