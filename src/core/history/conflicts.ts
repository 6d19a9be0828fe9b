import { type Actor, actorText } from '../memory/origin.ts';
import type { MemoryPath } from '../memory/path.ts';
import { displayTime } from './time-text.ts';

/** Sides of a conflict: the state without the actor's changes, and the current state. */
export const SIDES = ['reverted', 'current'] as const;
export type Side = (typeof SIDES)[number];

/** Resolution for a file: one of its sides, or a custom text. */
export type RevertResolution = Side | { text: string };

/** Resolution kind. */
export type Choice = Side | 'text';

/**
 * A change by the actor that the revert skipped completely or partly, with the reason, or a file with a resolution.
 * `memoryId` is null for directories, and `path` is null if it is redacted.
 */
export type Conflict = {
  memoryId: string | null;
  path: MemoryPath | null;
  /** Applied resolution. Null if the file is left unchanged because it has no resolution. */
  resolution: Choice | null;
  /** Resolutions that the file can have. */
  choices: Choice[];
} & (
  | {
      /**
       * `content`: others changed the same lines. `path`: others moved the file, too. `deleted_in_reverted`: others
       * changed a file that would not exist. `deleted_in_current`: others deleted the file.
       */
      reason: 'content' | 'path' | 'deleted_in_reverted' | 'deleted_in_current';
      changedBy: Actor;
      changedAt: string;
    }
  /** Another entry occupies the path `at`. */
  | { reason: 'occupied'; at: MemoryPath }
  /** A version that the revert needs was pruned or redacted. */
  | { reason: 'pruned' | 'redacted' }
  /** The file has a resolution without a conflict. */
  | { reason: 'resolved' }
);

/** Explains why a change by the actor was not reverted, and how the file was resolved. */
export function conflictText(conflict: Conflict): string {
  const path = conflict.path ?? `the file ${conflict.memoryId}`;
  const reason = reasonText(conflict);
  return `${path}: ${reason === null ? '' : `${reason}. `}${RESOLVED[conflict.resolution ?? 'unresolved']}.`;
}

const RESOLVED = {
  unresolved: 'Left unchanged',
  reverted: 'Resolved with the reverted state',
  current: 'Resolved with the current state',
  text: 'Resolved with a text',
};

function reasonText(conflict: Conflict): string | null {
  switch (conflict.reason) {
    case 'content':
      return `${changedByText(conflict)} the same lines at ${displayTime(conflict.changedAt)}`;
    case 'path':
      return `${actorText(conflict.changedBy)} moved it as well, at ${displayTime(conflict.changedAt)}`;
    case 'deleted_in_reverted':
      return `the revert would delete it, but ${changedByText(conflict)} it at ${displayTime(conflict.changedAt)}`;
    case 'deleted_in_current':
      return `${actorText(conflict.changedBy)} deleted it at ${displayTime(conflict.changedAt)}`;
    case 'occupied':
      return `${conflict.at} is occupied`;
    case 'pruned':
    case 'redacted':
      return `a version that the revert needs was ${conflict.reason}`;
    case 'resolved':
      return null;
  }
}

const changedByText = ({ changedBy }: { changedBy: Actor }) => `${actorText(changedBy)} changed`;
