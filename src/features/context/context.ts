import { innerPath, outerPath } from '../../core/files/memory.ts';
import { instructionsFor } from '../../core/files/mounts/mount-instructions.ts';
import { catchUnreachable, mountedPolicy } from '../../core/files/mounts/mounted-policy.ts';
import type { Services } from '../../core/files/services.ts';
import { mountUnavailableNote } from '../../core/memory/messages.ts';
import { mountAt, mountPath } from '../../core/memory/mount.ts';
import type { Origin } from '../../core/memory/origin.ts';
import { type MemoryPath, ROOT } from '../../core/memory/path.ts';
import { splitPaths } from '../../core/tenants/pinned-paths.ts';
import type { TenantPolicy } from '../../core/tenants/policy-cache.ts';
import type { Principal } from '../../core/tenants/principal.ts';
import { formatVersion, hashText, parseVersion } from './context-version.ts';
import { guidanceText } from './guidance.ts';
import { MIN_CHARS } from './limits.ts';
import { type ContextFile, type ContextFiles, NEVER, readFiles } from './read-files.ts';
import { composeChanges, composeSnapshot, type SeenFiles, type Snapshot } from './snapshot.ts';

/** Directory whose files are always pinned, in the caller's own memory only: a mount's writers pin nothing. */
const PINNED = `${ROOT}/pinned` as MemoryPath;

/** Number of files that a snapshot without a limit lists. */
const MAX_FILES = 2000;
/** Shortest line in an index, without its path's root. */
const MIN_LINE_CHARS = 30;
/** Size of all pinned contents in a snapshot without a limit. */
const MAX_PINNED_BYTES = 1024 * 1024;
/** Maximum number of bytes in a UTF-16 unit. */
const MAX_UNIT_BYTES = 3;

export interface ContextReader {
  principal: Pick<Principal, 'tenant' | 'access' | 'proposesAs'>;
  policy: Pick<TenantPolicy, 'mounts' | 'createdAt' | 'pinnedPaths' | 'maxContextChars' | 'limits'>;
  /** The caller's IP address. */
  ip: string;
  /** Origin for the read trail; undefined for an operator, whose reads are not recorded. */
  origin: Origin | undefined;
}

/** Texts for an agent before its first token. */
export interface Context {
  /** For the system prompt. It changes only with settings, mounts, and the release. */
  guidance: string;
  /** For the first message; null if `changes` is known. */
  snapshot: string | null;
  /** Changes since the given version, empty if there are none; null if they are not known, or no version is given. */
  changes: string | null;
  /** Version of the memory, for the next call. */
  version: string;
}

export interface ContextOptions {
  /** Version from an earlier context; undefined for the whole snapshot. */
  since?: string | undefined;
  /** Whether to return the changes instead of the snapshot, if they are known. By default true. */
  onlyChanges?: boolean;
  /** Maximum length of the snapshot, within the tenant's limit. */
  maxChars?: number | undefined;
}

/** A memory that a caller sees, with its files at the caller's paths. */
interface SeenMemory extends ContextFiles {
  tenant: string;
  createdAt: string | null;
  mountedAt: MemoryPath | undefined;
  /** Time in the given version. */
  since: string | undefined;
}

interface SeenMemories {
  memories: SeenMemory[];
  /** Times of the last changes: the caller's memory, then each mount. */
  times: string[];
  notes: string[];
}

/**
 * Reads an agent's context.
 *
 * @throws ServiceError when the tenant was replaced
 * @throws DatabaseError
 */
export async function readContext(
  reader: ContextReader,
  services: Services,
  { since: given, onlyChanges = true, maxChars = 0 }: ContextOptions,
): Promise<Context> {
  const { policy, principal } = reader;
  const limit = smallestLimit(maxChars, policy.maxContextChars, policy.limits.maxViewChars);
  const { content: mounts } = await instructionsFor(reader, services, false, []);
  const guidance = guidanceText(principal, mounts);
  const since = given === undefined ? undefined : parseVersion(given);
  const { memories, times, notes } = await readMemories(reader, services, limit, since?.times);
  const seen: SeenFiles = {
    files: memories.flatMap(({ files }) => files),
    total: memories.reduce((sum, { considered }) => sum + considered, 0),
    hasMore: memories.some(({ hasMore }) => hasMore),
    notes,
  };
  const snapshot = composeSnapshot(seen, limit);
  const basis = JSON.stringify([
    ...[guidance, limit, policy.pinnedPaths, notes],
    ...memories.map(({ tenant, createdAt, mountedAt }) => [tenant, createdAt, mountedAt]),
  ]);
  const now = {
    snapshot: hashText(snapshot.text, 22),
    basis: hashText(basis, 11),
    times,
  };
  const version = formatVersion(now);
  let changes: Changes | null = null;
  if (since?.basis === now.basis) {
    if (since.snapshot === now.snapshot) changes = NO_CHANGES;
    else if (onlyChanges) changes = changesSince(memories, snapshot, notes);
  }
  noteReads(reader, memories, { shown: snapshot.shown, sent: changes?.shown ?? snapshot.shown }, services);
  return {
    guidance,
    snapshot: changes === null ? snapshot.text : null,
    changes: changes?.text ?? null,
    version,
  };
}

interface Changes {
  /** Empty if there are none. */
  text: string;
  /** Changed pinned files, whose contents the text has. */
  shown: readonly ContextFile[];
}

const NO_CHANGES: Changes = { text: '', shown: [] };

function smallestLimit(...limits: readonly number[]): number {
  const set = limits.filter((limit) => limit > 0);
  return set.length === 0 ? 0 : Math.max(MIN_CHARS, Math.min(...set));
}

/** Reads the caller's memory and the mounted memories that can be read. */
async function readMemories(
  { principal: { tenant }, policy, ip }: ContextReader,
  { database, policies }: Services,
  limit: number,
  times: readonly string[] = [],
): Promise<SeenMemories> {
  const { mounts } = policy;
  const limits = {
    maxFiles: limit === 0 ? MAX_FILES : Math.min(MAX_FILES, Math.ceil(limit / MIN_LINE_CHARS)),
    maxBytes: limit === 0 ? MAX_PINNED_BYTES : MAX_UNIT_BYTES * limit,
  };
  const pins = [PINNED, ...splitPaths(policy.pinnedPaths)];
  const own = async (): Promise<SeenMemory> => {
    const pinned = pins.filter((path) => mountAt(path, mounts) === undefined);
    const memory = { tenant, createdAt: policy.createdAt };
    const [since] = times;
    const found = await readFiles(
      database,
      memory,
      { ...limits, pinned, hidden: mounts.map(mountPath) },
      since,
    );
    return { ...found, ...memory, mountedAt: undefined, since };
  };
  const mounted = mounts.map(async (mount, i): Promise<SeenMemory | string> => {
    const mountedAt = mountPath(mount);
    const pinned = pins
      .filter((path) => mountAt(path, mounts) === mount)
      .map((path) => innerPath(path, mountedAt));
    const memory = await catchUnreachable(async () => {
      const found = await mountedPolicy(mount, policies, ip);
      if (typeof found === 'string') return found;
      const memory = { tenant: mount.tenant, createdAt: found.createdAt };
      const since = times[i + 1];
      return {
        ...(await readFiles(database, memory, { ...limits, pinned, hidden: [] }, since)),
        ...memory,
        since,
      };
    });
    if (typeof memory === 'string') return mountUnavailableNote(mountedAt, memory);
    return {
      ...{ ...memory, mountedAt },
      files: memory.files.map((file) => ({ ...file, path: outerPath(file.path, mountedAt) })),
      gone: memory.gone?.map((path) => outerPath(path, mountedAt)) ?? null,
    };
  });
  const [first, ...rest] = await Promise.all([own(), ...mounted]);
  return {
    memories: [first, ...rest.filter((each) => typeof each !== 'string')],
    times: [first.at, ...rest.map((each) => (typeof each === 'string' ? NEVER : each.at))],
    notes: rest.filter((each) => typeof each === 'string'),
  };
}

/** Returns the changes since a time per memory; null if they are not known, or longer than the snapshot. */
function changesSince(
  memories: readonly SeenMemory[],
  snapshot: Snapshot,
  notes: readonly string[],
): Changes | null {
  const changed = new Set<ContextFile>();
  const gone: string[] = [];
  for (const memory of memories) {
    const { since = '' } = memory;
    if (memory.gone === null) return null;
    gone.push(...memory.gone);
    for (const file of memory.files) if (file.changedAt > since) changed.add(file);
  }
  const shown = snapshot.shown.filter((file) => changed.has(file));
  const listed = snapshot.listed.filter((file) => changed.has(file));
  if (shown.length + listed.length < changed.size) return null;
  const text = composeChanges({ shown, listed }, gone, notes);
  return text.length < snapshot.text.length ? { text, shown } : null;
}

/**
 * Records reads by an agent.
 *
 * @param files.shown pinned files in the snapshot, which the agent has in its context, so that they do not expire
 * @param files.sent the files whose contents this response has
 */
function noteReads(
  { origin, principal }: ContextReader,
  memories: readonly SeenMemory[],
  { shown, sent }: { shown: readonly ContextFile[]; sent: readonly ContextFile[] },
  { accessTimes, readTrail }: Services,
): void {
  if (origin === undefined) return;
  for (const { tenant, files, mountedAt } of memories) {
    const own = new Set(files);
    const inner = ({ path }: ContextFile) => (mountedAt === undefined ? path : innerPath(path, mountedAt));
    const from = mountedAt === undefined ? origin : { ...origin, viaTenant: principal.tenant };
    for (const file of shown) if (own.has(file)) accessTimes.note(tenant, inner(file));
    for (const file of sent) if (own.has(file)) readTrail?.note(tenant, inner(file), from);
  }
}
