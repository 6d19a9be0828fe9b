import { innerPath, outerPath } from '../../core/files/memory.ts';
import { catchUnreachable, mountedPolicy, proposalPolicy } from '../../core/files/mounts/mounted-policy.ts';
import type { Services } from '../../core/files/services.ts';
import { mountUnavailableNote, type Unavailable } from '../../core/memory/messages.ts';
import { mountAt, mountPath } from '../../core/memory/mount.ts';
import { type MemoryPath, ROOT } from '../../core/memory/path.ts';
import {
  divideRights,
  hidesPaths,
  type Rights,
  rightsInMount,
  shownParams,
} from '../../core/memory/rights.ts';
import { splitPaths } from '../../core/tenants/pinned-paths.ts';
import type { TenantPolicy } from '../../core/tenants/policy-cache.ts';
import type { Principal } from '../../core/tenants/principal.ts';
import { type ContextFiles, NEVER, readFiles, readLastChange, type TenantIdentity } from './read-files.ts';

/** Directory whose files are always pinned, in the caller's own memory only: a mount's writers pin nothing. */
const PINNED = `${ROOT}/pinned` as MemoryPath;

/** Maximum number of files that an index lists from one memory. */
const MAX_FILES = 1000;
/** Shortest line in an index. */
const MIN_LINE_CHARS = 26;
/** Maximum number of bytes in a UTF-16 unit. */
const MAX_UNIT_BYTES = 3;

/** A memory that a caller sees: its own, its draft, or a mounted one. */
export interface SeenMemory extends TenantIdentity {
  /** Undefined for the caller's own memory and draft. */
  mountedAt: MemoryPath | undefined;
  /** Reason why the mounted memory cannot be read. */
  unavailable: Unavailable | undefined;
  /** Pinned paths in this memory. */
  pinned: MemoryPath[];
  /** The caller's rights in this memory. Directories that mounts replace are hidden. */
  rights: Rights;
  /** Whether the caller's rights hide paths, so that the memory's last change may be hidden. */
  isPartial: boolean;
}

/** A memory's files at the caller's paths. */
export interface ReadMemory extends SeenMemory, ContextFiles {}

interface Caller {
  principal: Pick<Principal, 'tenant' | 'rights' | 'proposal'>;
  policy: Pick<TenantPolicy, 'mounts' | 'createdAt' | 'pinnedPaths'>;
  ip: string;
}

/** Returns the caller's memory, then its draft and the mounted memories. */
export async function seenMemories(
  { principal: { tenant, rights = [], proposal }, policy, ip }: Caller,
  { policies }: Pick<Services, 'policies'>,
): Promise<SeenMemory[]> {
  const { mounts, createdAt } = policy;
  const pins = [PINNED, ...splitPaths(policy.pinnedPaths)];
  const toOwn = (memory: TenantIdentity, rights: Rights): SeenMemory => ({
    ...{ ...memory, mountedAt: undefined, unavailable: undefined },
    pinned: pins.filter((path) => mountAt(path, mounts) === undefined),
    isPartial: hidesPaths(rights),
    rights: [
      ...rights.filter(({ path }) => mountAt(path, mounts) === undefined),
      ...mounts.map((mount) => ({ path: mountPath(mount), access: 'none' as const })),
    ],
  });
  const divided = proposal && divideRights(rights);
  const own = [toOwn({ tenant, createdAt }, divided?.own ?? rights)];
  if (proposal && divided) {
    const draft = await proposalPolicy(proposal, policies, ip);
    own.push(toOwn({ tenant: proposal.tenant, createdAt: draft.createdAt }, divided.draft));
  }
  const mounted = mounts.map(async (mount): Promise<SeenMemory> => {
    const mountedAt = mountPath(mount);
    const found = await catchUnreachable(() => mountedPolicy(mount, policies, ip));
    const isReadable = typeof found !== 'string';
    const inner = rightsInMount(rights, mount) ?? [];
    return {
      ...{ tenant: mount.tenant, mountedAt, rights: inner, isPartial: hidesPaths(inner) },
      createdAt: isReadable ? found.createdAt : null,
      unavailable: isReadable ? undefined : found,
      pinned: pins
        .filter((path) => mountAt(path, mounts) === mount)
        .map((path) => innerPath(path, mountedAt)),
    };
  });
  return [...own, ...(await Promise.all(mounted))];
}

/** Returns the times when memories were last changed, with `NEVER` for a memory that cannot be read. */
export function lastChanges(
  memories: readonly SeenMemory[],
  { database }: Pick<Services, 'database'>,
): Promise<string[]> {
  return Promise.all(
    memories.map(async (memory) => {
      if (memory.unavailable !== undefined) return NEVER;
      const read = () => readLastChange(database, memory);
      const at = await (memory.mountedAt === undefined ? read() : catchUnreachable(read));
      return at === 'unreachable' ? NEVER : at;
    }),
  );
}

/**
 * Reads the memories' files.
 *
 * @param limit limit on the snapshot in UTF-16 units
 * @param times times from which each memory's deleted paths are read
 */
export function readMemories(
  memories: readonly SeenMemory[],
  { database }: Pick<Services, 'database'>,
  limit: number,
  times: readonly string[] = [],
): Promise<ReadMemory[]> {
  const limits = {
    maxFiles: Math.min(MAX_FILES, Math.ceil(limit / MIN_LINE_CHARS)),
    maxBytes: MAX_UNIT_BYTES * limit,
  };
  return Promise.all(
    memories.map(async (memory, i): Promise<ReadMemory> => {
      const { mountedAt, pinned } = memory;
      if (memory.unavailable !== undefined) return { ...memory, ...NO_FILES };
      const { shown, hidden } = shownParams(memory.rights);
      const read = async () => {
        const files = await readFiles(database, memory, { ...limits, pinned, shown, hidden }, times[i]);
        return memory.isPartial ? { ...files, at: lastSeenChange(files) } : files;
      };
      if (mountedAt === undefined) return { ...memory, ...(await read()) };
      const found = await catchUnreachable(read);
      if (found === 'unreachable') return { ...memory, ...NO_FILES, unavailable: found };
      return {
        ...{ ...memory, ...found },
        files: found.files.map((file) => ({ ...file, path: outerPath(file.path, mountedAt) })),
        gone: found.gone?.map((path) => outerPath(path, mountedAt)) ?? null,
      };
    }),
  );
}

/** Returns the time when a file that the caller sees was last changed, which does not reveal changes to hidden files. */
function lastSeenChange({ files }: ContextFiles): string {
  return files.reduce((last, { changedAt }) => (changedAt > last ? changedAt : last), NEVER);
}

const NO_FILES: ContextFiles = { files: [], considered: 0, hasMore: false, at: NEVER, gone: null };

/** Returns the notes on memories that cannot be read. */
export function unavailableNotes(memories: readonly SeenMemory[]): string[] {
  return memories.flatMap(({ mountedAt, unavailable }) =>
    mountedAt === undefined || unavailable === undefined ? [] : mountUnavailableNote(mountedAt, unavailable),
  );
}
