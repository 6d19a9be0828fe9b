import { locateFile } from '../../core/files/mounts/located-file.ts';
import { instructionsFor } from '../../core/files/mounts/mount-instructions.ts';
import type { Services } from '../../core/files/services.ts';
import type { Origin } from '../../core/memory/origin.ts';
import type { TenantPolicy } from '../../core/tenants/policy-cache.ts';
import type { Principal } from '../../core/tenants/principal.ts';
import type { Context } from './context-schema.ts';
import { type ContextVersion, formatVersion, hashText, parseVersion } from './context-version.ts';
import { guidanceText } from './guidance.ts';
import { snapshotLimit } from './limits.ts';
import { type ContextFile, NEVER } from './read-files.ts';
import {
  lastChanges,
  type ReadMemory,
  readMemories,
  type SeenMemory,
  seenMemories,
  unavailableNotes,
} from './seen-memories.ts';
import { composeChanges, composeSnapshot, type Snapshot } from './snapshot.ts';

export interface ContextReader {
  principal: Pick<Principal, 'tenant' | 'access' | 'rights' | 'proposesAs' | 'proposal'>;
  policy: Pick<TenantPolicy, 'mounts' | 'createdAt' | 'pinnedPaths' | 'maxContextChars' | 'limits'>;
  /** The caller's IP address. */
  ip: string;
  /** Origin for the read trail; undefined for an operator, whose reads are not recorded. */
  origin: Origin | undefined;
}

export interface ContextOptions {
  /** Version from an earlier context; undefined for the whole snapshot. */
  since?: string | undefined;
  /** Whether to return the changes instead of the snapshot, if they are known. By default true. */
  onlyChanges?: boolean;
  /** Maximum length of the snapshot, within the tenant's limit. */
  maxChars?: number | undefined;
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
  const limit = snapshotLimit(maxChars, policy.maxContextChars, policy.limits.maxViewChars);
  const { content: places } = await instructionsFor(reader, services, false, []);
  const guidance = guidanceText(principal, places);
  const seen = await seenMemories(reader, services);
  const basis = hashText(JSON.stringify([guidance, limit, policy.pinnedPaths, ...seen.map(identity)]), 11);
  const since = readVersion(given, basis);
  if (since !== undefined && (await isUnchanged(seen, since, services)))
    return { guidance, snapshot: null, changes: '', version: formatVersion(since) };
  const memories = await readMemories(seen, services, limit, since?.times);
  const snapshot = currentSnapshot(memories, limit);
  const hash = hashText(snapshot.text, 22);
  const changes =
    since === undefined ? null : changesSince(since, hash, { memories, snapshot, withText: onlyChanges });
  noteReads(reader, { shown: snapshot.shown, sent: changes?.shown ?? snapshot.shown }, services);
  return {
    guidance,
    snapshot: changes === null ? snapshot.text : null,
    changes: changes?.text ?? null,
    version: formatVersion({ snapshot: hash, basis, times: memories.map(({ at }) => at) }),
  };
}

const identity = ({ tenant, createdAt, mountedAt, rights }: SeenMemory) => [
  tenant,
  createdAt,
  mountedAt,
  rights.map(({ path, access }) => [path, access !== 'none']),
];

/** Returns a version with the same basis; undefined for any other text. */
function readVersion(given: string | undefined, basis: string): ContextVersion | undefined {
  const version = given === undefined ? undefined : parseVersion(given);
  return version?.basis === basis ? version : undefined;
}

/** Whether no memory was changed since a version. Reads no files. */
async function isUnchanged(
  memories: readonly SeenMemory[],
  { times }: ContextVersion,
  services: Services,
): Promise<boolean> {
  const now = await lastChanges(memories, services);
  return now.every((at, i) => at === times[i]);
}

function currentSnapshot(memories: readonly ReadMemory[], limit: number): Snapshot {
  const seen = {
    files: memories.flatMap(({ files }) => files),
    total: memories.reduce((sum, { considered }) => sum + considered, 0),
    hasMore: memories.some(({ hasMore }) => hasMore),
    notes: unavailableNotes(memories),
  };
  return composeSnapshot(seen, limit);
}

interface Changes {
  /** Empty if there are none. */
  text: string;
  /** Changed pinned files, whose contents the text has. */
  shown: readonly ContextFile[];
}

const NO_CHANGES: Changes = { text: '', shown: [] };

/**
 * Returns the changes since a version; null if they are not known, or longer than the snapshot.
 *
 * @param hash the current snapshot's hash
 * @param now.withText false if only an unchanged snapshot is of use
 */
function changesSince(
  { snapshot: before, times }: ContextVersion,
  hash: string,
  now: { memories: readonly ReadMemory[]; snapshot: Snapshot; withText: boolean },
): Changes | null {
  const { memories, snapshot, withText } = now;
  // The memory changed in a way that the snapshot does not show, for example in a hidden file.
  if (before === hash) return NO_CHANGES;
  if (!withText) return null;
  const changed = new Set<ContextFile>();
  const gone: string[] = [];
  for (const [i, memory] of memories.entries()) {
    const isStillUnavailable = memory.unavailable !== undefined && times[i] === NEVER;
    if (isStillUnavailable) continue;
    if (memory.gone === null) return null;
    gone.push(...memory.gone);
    for (const file of memory.files) if (file.changedAt > (times[i] ?? '')) changed.add(file);
  }
  if (changed.size === 0 && gone.length === 0) return NO_CHANGES;
  const shown = snapshot.shown.filter((file) => changed.has(file));
  const listed = snapshot.listed.filter((file) => changed.has(file));
  if (shown.length + listed.length < changed.size) return null;
  const text = composeChanges({ shown, listed }, gone, unavailableNotes(memories));
  return text.length < snapshot.text.length ? { text, shown } : null;
}

/**
 * Records reads by an agent.
 *
 * @param files.shown pinned files in the snapshot, which the agent has in its context, so that they do not expire
 * @param files.sent the files whose contents this response has
 */
function noteReads(
  { origin, principal, policy }: ContextReader,
  { shown, sent }: { shown: readonly ContextFile[]; sent: readonly ContextFile[] },
  { accessTimes, readTrail }: Services,
): void {
  if (origin === undefined) return;
  const locate = ({ path }: ContextFile) => locateFile(path, { principal, policy });
  for (const { tenant, path } of shown.map(locate)) accessTimes.note(tenant, path);
  if (readTrail === undefined) return;
  for (const { tenant, path, viaTenant } of sent.map(locate))
    readTrail.note(tenant, path, { ...origin, viaTenant });
}
