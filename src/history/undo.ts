import type { Actor } from '../memory/origin.ts';
import type { MemoryPath } from '../memory/path.ts';
import { actorOf } from './origin.ts';
import type { PlannedFile, Target } from './plan.ts';
import type { VersionState } from './restore-queries.ts';

/** What the actor did that stays, at least in part, and why. A directory has no id; `path` is null when it is redacted. */
export type Conflict = { memoryId: string | null; path: MemoryPath | null } & (
  | {
      /** `changed`: somebody else changed the file since. `mixed`: in between, so what the actor did before that stays. */
      reason: 'changed' | 'mixed';
      changedBy: Actor;
      changedAt: string;
    }
  /** Something else is `at` a path now. */
  | { reason: 'occupied'; at: MemoryPath }
  /** What was before is not kept any more. */
  | { reason: 'pruned' | 'redacted' }
);

/** A file that an actor changed: its versions since a time and the one before, the oldest first. */
export interface TouchedFile {
  memoryId: string;
  /** `isTheirs`: the actor made it since that time. At least one is. */
  versions: TouchedVersion[];
  isLive: boolean;
}

type TouchedVersion = VersionState & { isTheirs: boolean };

/** `at`: the time of the first change to undo. */
export type Undo = Target & { at: string };

/**
 * Which of the actor's changes of a file to undo: the latest ones, after which nobody else changed it. The others are a conflict, unless
 * the file is as it was before them, as after another revert.
 */
export function judge({ memoryId, versions, isLive }: TouchedFile): { conflict?: Conflict; undo?: Undo } {
  const last = versions.at(-1);
  const now = isLive && last !== undefined ? stateOf(last) : null;
  const file = { memoryId, path: versions.findLast(({ path }) => path !== null)?.path ?? null };
  const first = versions.findIndex(({ isTheirs }) => isTheirs);
  const othersLast = versions.findLastIndex(({ isTheirs }) => !isTheirs);
  const other = othersLast > first ? versions[othersLast] : undefined;
  if (other !== undefined && isSame(stateBefore(versions, first), now)) return {};

  const start = other === undefined ? first : othersLast + 1;
  const { createdAt: at } = versions[start] ?? {};
  const conflict: Conflict | undefined = other && {
    ...file,
    reason: at === undefined ? 'changed' : 'mixed',
    ...{ changedBy: actorOf(other.origin), changedAt: other.createdAt },
  };
  if (at === undefined) return conflict === undefined ? {} : { conflict };
  const past = stateBefore(versions, start);
  if (typeof past === 'string') return { conflict: { ...file, reason: past } };
  const undo = { memoryId, now, past, at };
  return conflict === undefined ? { undo } : { conflict, undo };
}

/** What a file was before one of its versions, or why that is not known. */
function stateBefore(
  versions: readonly TouchedVersion[],
  index: number,
): PlannedFile | null | 'pruned' | 'redacted' {
  const before = versions[index - 1];
  if (before === undefined) return versions[index]?.operation === 'created' ? null : 'pruned';
  if (before.operation === 'deleted') return null;
  return stateOf(before) ?? 'redacted';
}

function stateOf({ path, versionId, sha256 }: TouchedVersion): PlannedFile | null {
  return path === null || sha256 === null ? null : { path, versionId, sha256 };
}

function isSame(a: PlannedFile | null | string, b: PlannedFile | null): boolean {
  if (typeof a === 'string') return false;
  return a?.path === b?.path && a?.sha256 === b?.sha256;
}

/**
 * Which directories to bring back and which to remove, to undo changes made at `times`, as far as nobody else made or removed them after.
 *
 * @param rows directories that were made or removed since then; `removedAt` is null for those that are there
 */
export function touchedDirectories(
  rows: readonly { path: MemoryPath; madeAt: string; removedAt: string | null }[],
  times: ReadonlySet<string>,
): { wanted: Set<MemoryPath>; unwanted: Set<MemoryPath> } {
  const wanted = new Set<MemoryPath>();
  const unwanted = new Set<MemoryPath>();
  const periods = new Map<MemoryPath, (typeof rows)[number][]>();
  for (const row of [...rows].sort((a, b) => (a.madeAt < b.madeAt ? -1 : 1))) {
    periods.set(row.path, [...(periods.get(row.path) ?? []), row]);
  }
  for (const [path, all] of periods) {
    const isThere = all.at(-1)?.removedAt === null;
    let wasThere = isThere;
    for (const { madeAt, removedAt } of all.reverse()) {
      if (removedAt !== null && !wasThere) {
        if (!times.has(removedAt)) break;
        wasThere = true;
      }
      if (!times.has(madeAt)) break;
      wasThere = false;
    }
    if (wasThere && !isThere) wanted.add(path);
    if (isThere && !wasThere) unwanted.add(path);
  }
  return { wanted, unwanted };
}
