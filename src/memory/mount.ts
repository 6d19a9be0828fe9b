import { type MemoryPath, ROOT } from './path.ts';

/** A directory of a tenant's memory that shows the memory of another tenant. */
export interface Mount {
  /** Of the directory, which is directly below the root. */
  name: string;
  tenant: string;
  access: 'read_only' | 'read_write';
  /** What it is for, in words for the model; may be empty. */
  instructions: string;
  /** When the mounted tenant was created. A later tenant with its id is another one, which the mount does not show. */
  createdAt?: string | undefined;
}

/** A mount as operators see it. */
export function shownMount({ createdAt: _, ...mount }: Mount): Omit<Mount, 'createdAt'> {
  return mount;
}

/** The directory at which the other memory is seen. */
export function mountPath({ name }: Pick<Mount, 'name'>): MemoryPath {
  return `${ROOT}/${name}` as MemoryPath;
}

/** The mount whose directory a path is, or is in. */
export function mountAt<M extends Pick<Mount, 'name'>>(
  path: MemoryPath,
  mounts: readonly M[],
): M | undefined {
  const [name] = path.slice(ROOT.length + 1).split('/', 1);
  return mounts.find((mount) => mount.name === name);
}
