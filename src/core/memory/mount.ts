import { type MemoryPath, ROOT } from './path.ts';

/** With `propose`, the caller's draft collects writes (src/features/drafts). */
export const MOUNT_ACCESS = ['read_only', 'propose', 'read_write'] as const;

/** A directory in a tenant's memory that shows another tenant's memory. */
export interface Mount {
  /** Directory name, directly below the root. */
  name: string;
  tenant: string;
  access: (typeof MOUNT_ACCESS)[number];
  /** Path in the mounted memory outside which nothing is shown; undefined for the whole memory. */
  prefix?: MemoryPath | undefined;
  /** The mount's purpose, in words for the model; may be empty. */
  instructions: string;
  /** The mounted tenant's creation time. A later tenant with the same ID is not shown. */
  createdAt?: string | undefined;
  /** The accepted invitation to which the mount belongs (src/features/sharing). */
  share?: { id: string; createdAt: string } | undefined;
  /** The mounted tenant, if `tenant` is the caller's draft. Never stored. */
  draftOf?: Pick<Mount, 'tenant' | 'createdAt'> | undefined;
}

/** Returns a mount without its internal fields. */
export function toShownMount({
  createdAt: _,
  share: __,
  ...mount
}: Mount): Omit<Mount, 'createdAt' | 'share'> {
  return mount;
}

/**
 * Returns a mount with the caller's own memory at the root, for the paths to which the caller proposes changes. Never
 * stored.
 */
export function ownProposal(tenant: string, createdAt: string | null): Mount {
  return { name: '', tenant, access: 'propose', instructions: '', createdAt: createdAt ?? undefined };
}

/** Returns the path to the mount's directory. */
export function mountPath({ name }: Pick<Mount, 'name'>): MemoryPath {
  return name === '' ? ROOT : (`${ROOT}/${name}` as MemoryPath);
}

/** Returns the path at or below the mount's directory at which the mounted memory is shown. */
export function shownPath(mount: Pick<Mount, 'name' | 'prefix'>): MemoryPath {
  return (mountPath(mount) + (mount.prefix ?? ROOT).slice(ROOT.length)) as MemoryPath;
}

/** Returns the mount whose directory is at or above a path. */
export function mountAt<M extends Pick<Mount, 'name'>>(
  path: MemoryPath,
  mounts: readonly M[],
): M | undefined {
  const [name] = path.slice(ROOT.length + 1).split('/', 1);
  return mounts.find((mount) => mount.name === name);
}
