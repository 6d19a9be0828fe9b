import { type Mount, mountAt, mountPath } from '../../memory/mount.ts';
import type { MemoryPath } from '../../memory/path.ts';
import { innerPath } from '../memory.ts';

/** A file's memory, and its path there. */
export interface LocatedFile {
  tenant: string;
  path: MemoryPath;
  /** The caller's tenant, if the memory is mounted. */
  viaTenant: string | undefined;
}

/** Returns the place of a file that a caller sees at a path. */
export function locateFile(path: MemoryPath, tenant: string, mounts: readonly Mount[]): LocatedFile {
  const mount = mountAt(path, mounts);
  if (mount === undefined) return { tenant, path, viaTenant: undefined };
  return { tenant: mount.tenant, path: innerPath(path, mountPath(mount)), viaTenant: tenant };
}
