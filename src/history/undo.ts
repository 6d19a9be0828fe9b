import type { Actor } from '../memory/origin.ts';
import type { MemoryPath } from '../memory/path.ts';
import { actorOf } from '../store/origin.ts';
import type { PlannedFile, Target } from './plan.ts';
import type { TouchedFile, TouchedVersion } from './revert-queries.ts';

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

/** `at`: the time of the first change to undo. */
export type Undo = Target & { at: string };

/**
 * Which of the actor's changes of a file to undo: the latest ones, after which nobody else changed it. The others are a conflict, unless
 * the file is as it was before them, as after another revert.
 */
export function judge(touched: TouchedFile): { conflict?: Conflict; undo?: Undo } {
  const { memoryId, head, other, startedAt: at } = touched;
  const now = head === null ? null : fileOf(head);
  const file = { memoryId, path: touched.path };
  if (other !== null && isSame(stateBefore(touched), now)) return {};

  const conflict: Conflict | undefined =
    other === null
      ? undefined
      : {
          ...file,
          reason: at === null ? 'changed' : 'mixed',
          ...{ changedBy: actorOf(other.origin), changedAt: other.createdAt },
        };
  if (at === null) return conflict === undefined ? {} : { conflict };
  const past = other === null ? stateBefore(touched) : stateOf(other);
  if (typeof past === 'string') return { conflict: { ...file, reason: past } };
  const undo = { memoryId, now, past, at };
  return conflict === undefined ? { undo } : { conflict, undo };
}

/** What a file was before the actor's first change, or why that is not known. */
function stateBefore({ before, firstOperation }: TouchedFile): PlannedFile | null | 'pruned' | 'redacted' {
  if (before === null) return firstOperation === 'created' ? null : 'pruned';
  return stateOf(before);
}

function stateOf(version: TouchedVersion): PlannedFile | null | 'redacted' {
  return version.operation === 'deleted' ? null : (fileOf(version) ?? 'redacted');
}

function fileOf({ path, versionId, sha256 }: TouchedVersion): PlannedFile | null {
  return path === null || sha256 === null ? null : { path, versionId, sha256 };
}

function isSame(a: PlannedFile | null | string, b: PlannedFile | null): boolean {
  if (typeof a === 'string') return false;
  return a?.path === b?.path && a?.sha256 === b?.sha256;
}
