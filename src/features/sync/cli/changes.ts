import type { MemoryPath } from '../../../core/memory/path.ts';
import { type PlannedFile, type Side, sameContent } from './plan.ts';

/** A change to a side. A `conflict` is a local file that preserves content which the memory's content replaces. */
export interface SyncChange {
  side: 'memory' | 'local' | 'conflict';
  action: 'create' | 'update' | 'merge' | 'rename' | 'delete' | 'copy';
  path: MemoryPath;
  to?: MemoryPath;
}

/** Returns the changes that bring a file in the memory to its target. */
export function memoryChanges(file: PlannedFile): SyncChange[] {
  return sideChanges('memory', file, file.original, file.draft);
}

/** Returns the changes that bring a local file to its target. */
export function localChanges(file: PlannedFile): SyncChange[] {
  const { copyOf, target } = file;
  if (copyOf !== undefined && target !== null)
    return [{ side: 'conflict', action: 'copy', path: copyOf, to: target.path }];
  return sideChanges('local', file, file.draft, file.original);
}

function sideChanges(
  side: 'memory' | 'local',
  { target }: PlannedFile,
  current: Side | null,
  other: Side | null,
): SyncChange[] {
  if (target === null) return current === null ? [] : [{ side, action: 'delete', path: current.path }];
  const { path, sha256 } = target;
  if (current === null) return [{ side, action: 'create', path }];
  const changes: SyncChange[] = [];
  if (current.path !== path) changes.push({ side, action: 'rename', path: current.path, to: path });
  const isMerged = other !== null && !sameContent(current, other) && other.versionId !== sha256;
  if (current.versionId !== sha256) changes.push({ side, action: isMerged ? 'merge' : 'update', path });
  return changes;
}
