/* Independent model for a revert: each line and the file's path are merged on their own, by brute force. */

/** A file with its changing lines. Constant lines separate them in the text. */
export interface ModelFile {
  path: string;
  lines: string[];
}

/** A version of a file; null after a deletion. */
export interface ModelVersion {
  actor: string;
  file: ModelFile | null;
}

export const revertModelText = ({ lines }: ModelFile) =>
  lines.map((line, i) => `${line}\n-- ${i} --\n`).join('');

export interface ModelOutcome {
  /** State without the actor. */
  reverted: ModelFile | null;
  /** Whether a change by others overlaps with a change by the actor. */
  isConflict: boolean;
}

/** Values in a file that are merged on their own: its path, and each line. */
const fileValues = ({ path, lines }: ModelFile) => [path, ...lines];
const toModelFile = ([path = '', ...lines]: string[]): ModelFile => ({ path, lines });
const isSame = (a: ModelFile | null, b: ModelFile | null) => JSON.stringify(a) === JSON.stringify(b);

/**
 * Reverts an actor's versions from the version `first` on.
 *
 * @param isTheirs whether a version was made by the actor; earlier versions than `first` are not examined
 */
export function revertFile(
  versions: readonly ModelVersion[],
  first: number,
  isTheirs: (version: ModelVersion) => boolean,
): ModelOutcome {
  let reverted = versions[first - 1]?.file ?? null;
  let isConflict = false;
  for (const [base, last] of findInterveningChanges(versions, first, isTheirs)) {
    const [old, now] = [versions[base]?.file ?? null, versions[last]?.file ?? null];
    if (isSame(reverted, old)) reverted = now;
    else if (isSame(now, old) || isSame(now, reverted)) continue;
    else if (reverted === null || now === null || old === null) isConflict = true;
    else {
      const [before, mine, theirs] = [fileValues(old), fileValues(reverted), fileValues(now)];
      const merged = before.map((value, i) => {
        if (mine[i] === value) return theirs[i] ?? '';
        if (theirs[i] !== value && theirs[i] !== mine[i]) isConflict = true;
        return mine[i] ?? '';
      });
      reverted = toModelFile(merged);
    }
  }
  return { reverted, isConflict: isConflict && !isSame(reverted, versions.at(-1)?.file ?? null) };
}

/** Lists the versions before and at the end of consecutive changes by others. */
function findInterveningChanges(
  versions: readonly ModelVersion[],
  first: number,
  isTheirs: (version: ModelVersion) => boolean,
): [base: number, last: number][] {
  const turns: [number, number][] = [];
  for (let i = first; i < versions.length; i++) {
    const version = versions[i];
    if (version === undefined || isTheirs(version)) continue;
    const turn = turns.at(-1);
    const previous = versions[i - 1];
    const isRestored = turn !== undefined && versions[turn[0]]?.file === null;
    if (turn !== undefined && turn[1] === i - 1 && previous && !isTheirs(previous) && !isRestored)
      turn[1] = i;
    else turns.push([i - 1, i]);
  }
  return turns;
}
