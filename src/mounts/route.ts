import type { MemoryCommand } from '../memory/commands/command.ts';
import {
  cannotDeleteMount,
  cannotRenameMount,
  destinationExists,
  mountReadOnly,
  renameAcrossMemories,
  renameOutOfReadOnly,
} from '../memory/messages.ts';
import { type Mount, mountAt, mountPath } from '../memory/mount.ts';
import { type MemoryPath, parsePath, ROOT } from '../memory/path.ts';

/**
 * The memory on which a call runs. `root` is a view of the root, which shows own entries and mounts together; `refused` is what touches a
 * mount itself, or two memories, or one that is read-only.
 */
export type Route =
  | { kind: 'own' | 'root' }
  | { kind: 'mount'; mount: Mount }
  | { kind: 'refused'; why: string; isRefusal: boolean };

export const OWN: Route = { kind: 'own' };

/** Chooses the memory for a call. A call with invalid input runs on the caller's own memory, which says what is wrong. */
export function routeOf(
  command: MemoryCommand | undefined,
  input: Record<string, unknown>,
  mounts: readonly Mount[],
): Route {
  if (command === undefined) return OWN;
  if (command.name === 'rename') return routeOfRename(input, mounts);
  const path = pathOf(input.path);
  if (path === undefined) return OWN;
  if (path === ROOT) return command.access === 'read' ? { kind: 'root' } : OWN;
  const mount = mountAt(path, mounts);
  if (mount === undefined) return OWN;
  if (command.access === 'read') return { kind: 'mount', mount };
  if (command.name === 'delete' && path === mountPath(mount)) return refuse(cannotDeleteMount(path));
  return mount.access === 'read_only' ? refuseReadOnly(mount, mounts) : { kind: 'mount', mount };
}

/** In the order of the contract: the source as a root, then the destination as one. */
function routeOfRename(input: Record<string, unknown>, mounts: readonly Mount[]): Route {
  const from = pathOf(input.old_path);
  const to = pathOf(input.new_path);
  if (from === undefined || to === undefined || from === ROOT || to === ROOT) return OWN;
  const source = mountAt(from, mounts);
  const destination = mountAt(to, mounts);
  if (source !== undefined && from === mountPath(source)) return refuse(cannotRenameMount(from));
  if (destination !== undefined && to === mountPath(destination)) return refuse(destinationExists(to));
  if (destination?.access === 'read_only') return refuseReadOnly(destination, mounts);
  if (source === destination) return source === undefined ? OWN : { kind: 'mount', mount: source };
  return refuse(
    source?.access === 'read_only' ? renameOutOfReadOnly(from, to) : renameAcrossMemories(from, to),
  );
}

/** What the model reads instead of a write to a mount that is read-only. */
export function readOnlyMount(mount: Mount, mounts: readonly Mount[]): string {
  const writable = mounts.filter((each) => each !== mount && each.access === 'read_write');
  return mountReadOnly(mountPath(mount), writable.map(mountPath));
}

function refuseReadOnly(mount: Mount, mounts: readonly Mount[]): Route {
  return { ...refuse(readOnlyMount(mount, mounts)), isRefusal: true };
}

function refuse(why: string): Extract<Route, { kind: 'refused' }> {
  return { kind: 'refused', why, isRefusal: false };
}

function pathOf(given: unknown): MemoryPath | undefined {
  const parsed = typeof given === 'string' ? parsePath(given) : undefined;
  return parsed?.ok ? parsed.path : undefined;
}
