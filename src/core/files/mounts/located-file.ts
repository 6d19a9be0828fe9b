import { type Mount, mountAt, mountPath } from '../../memory/mount.ts';
import type { MemoryPath } from '../../memory/path.ts';
import { accessTo } from '../../memory/rights.ts';
import type { TenantPolicy } from '../../tenants/policy-cache.ts';
import type { Principal } from '../../tenants/principal.ts';
import { innerPath } from '../memory.ts';

/** A file's memory, and its path there. */
export interface LocatedFile {
  tenant: string;
  path: MemoryPath;
  /** The caller's tenant, if the memory is mounted. */
  viaTenant: string | undefined;
  /** The mount, or the caller's own draft; undefined for the caller's memory. */
  mount: Mount | undefined;
}

interface Caller {
  principal: Pick<Principal, 'tenant' | 'rights' | 'proposal'>;
  policy: Pick<TenantPolicy, 'mounts'>;
}

/** Returns the place of a file that a caller sees at a path. */
export function locateFile(path: MemoryPath, { principal, policy: { mounts } }: Caller): LocatedFile {
  const { tenant, rights = [], proposal } = principal;
  const mount = mountAt(path, mounts);
  if (mount !== undefined)
    return { tenant: mount.tenant, path: innerPath(path, mountPath(mount)), viaTenant: tenant, mount };
  const draft = accessTo(rights, path) === 'propose' ? proposal : undefined;
  return { tenant: draft?.tenant ?? tenant, path, viaTenant: undefined, mount: draft };
}
