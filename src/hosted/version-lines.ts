import { createHash } from 'node:crypto';
import type { ArchivedDirectory, ArchivedVersion } from '../archive/history-format.ts';
import type { Actor } from '../memory/origin.ts';
import type { MemoryPath } from '../memory/path.ts';
import { filePathOf } from '../stores-api/paths.ts';
import { microsecondsOf, timeOf } from '../util/rfc3339.ts';
import { HostedStoreError } from './client.ts';
import { DirectoryTimes } from './directory-times.ts';
import { memoryUuid, versionUuid } from './history-ids.ts';
import type { HostedActor, HostedMemory, HostedVersion } from './schemas.ts';
import { Splices } from './splices.ts';

/** What the versions read so far, the newest ones, say about a memory; times in microseconds since 1970. */
interface Lineage {
  /** When the oldest of them began. */
  begins: number;
  /** Whether that one created the memory. */
  isComplete: boolean;
  /** Where the file was then, as long as it stays there. */
  stay: { path: MemoryPath; since: number; until: number } | undefined;
}

/** Turns the versions of a hosted store, the newest first, into lines of an archive. */
export class VersionLines {
  readonly #lineages = new Map<string, Lineage>();
  readonly #splices = new Splices();
  readonly #directories = new DirectoryTimes();
  /** Before this time, versions are known to be missing. */
  #gap = 0;
  /** How many superseded versions have a path or a content that this service cannot have. */
  leftOut = 0;

  /** Whether there was a version of a memory, by its id in the store. */
  has(memory: string): boolean {
    return this.#lineages.has(memoryUuid(memory));
  }

  /** Undefined for a version that is left out. */
  add(version: HostedVersion): ArchivedVersion | undefined {
    const memory = memoryUuid(version.memory_id);
    const newer = this.#lineages.get(memory);
    const isDeletion = version.operation === 'deleted';
    const isRedacted = version.redacted_at != null;
    const isHead = newer === undefined && !isDeletion && !isRedacted;
    // Each version of a memory ends where the next one begins, whatever the clocks say.
    const begins = Math.min(timeIn(version.created_at), (newer?.begins ?? Number.POSITIVE_INFINITY) - 1);
    const ends = isHead ? null : isDeletion ? begins : (newer?.begins ?? begins);
    const path = version.path == null ? undefined : filePathOf(version.path);
    const isKept = isRedacted || (path !== undefined && (isDeletion || isStorable(version.content)));

    const lineage = newer ?? { begins, isComplete: false, stay: undefined };
    this.#lineages.set(memory, lineage);
    lineage.begins = begins;
    lineage.isComplete = version.operation === 'created';
    this.#stay(lineage, isKept && !isDeletion && !isRedacted ? path : undefined, ends);
    // That of a live memory is refused by the import, which names it.
    if (!isKept && !isHead) {
      this.leftOut++;
      this.#gap = Math.max(this.#gap, ends ?? begins);
      return undefined;
    }

    const hasContent = !isDeletion && !isRedacted;
    const content = hasContent ? (version.content ?? '') : null;
    return {
      id: versionUuid(version.id, begins),
      memory_id: memory,
      operation: version.operation,
      path: isRedacted ? null : (path ?? null),
      content_sha256: content === null ? null : (version.content_sha256 ?? sha256Of(content)),
      content_size_bytes: content === null ? null : Buffer.byteLength(content),
      created_at: timeOf(begins),
      superseded_at: ends === null ? null : timeOf(ends),
      actor: actorOf(version.created_by),
      request_id: null,
      tool_use_id: null,
      via_tenant: null,
      source: null,
      draft: null,
      approved_by: null,
      redacted_at: version.redacted_at == null ? null : timeOf(timeIn(version.redacted_at)),
      redacted_by: isRedacted ? actorOf(version.redacted_by) : null,
      ...this.#kept(memory, isHead ? null : content),
    };
  }

  /** The head of a live memory of which there is no version any more. */
  addHead(memory: HostedMemory): ArchivedVersion | undefined {
    return this.add({
      id: memory.memory_version_id,
      memory_id: memory.id,
      operation: memory.created_at === memory.updated_at ? 'created' : 'modified',
      path: memory.path,
      content: memory.content,
      content_sha256: memory.content_sha256,
      created_at: memory.updated_at,
    });
  }

  /** To be called after the last version: when there were which directories. */
  directories(): Iterable<ArchivedDirectory> {
    for (const lineage of this.#lineages.values()) this.#stay(lineage, undefined, null);
    return this.#directories.rows();
  }

  /** Since when no version is known to be missing. */
  get completeSince(): number {
    let since = this.#gap;
    for (const { isComplete, begins } of this.#lineages.values()) {
      if (!isComplete) since = Math.max(since, begins);
    }
    return since;
  }

  /** Notes where a file was; undefined for a version without a file. */
  #stay(lineage: Lineage, path: MemoryPath | undefined, ends: number | null): void {
    const { stay, begins } = lineage;
    const until = ends ?? Number.POSITIVE_INFINITY;
    if (stay !== undefined && stay.path === path && stay.since === until) {
      stay.since = begins;
      return;
    }
    if (stay !== undefined) this.#directories.add(stay.path, stay);
    lineage.stay = path === undefined ? undefined : { path, since: begins, until };
  }

  #kept(memory: string, content: string | null) {
    if (content !== null) return this.#splices.add(memory, content);
    this.#splices.restart(memory);
    return { splice_start: null, splice_length: null, content: null };
  }
}

function actorOf(actor: HostedActor): Actor {
  switch (actor?.type) {
    case 'api_actor':
      return { type: 'api_key', id: actor.api_key_id, label: '' };
    case 'service_account_actor':
      return { type: 'jwt', subject: actor.service_account_id };
    case 'user_actor':
      return { type: 'operator', name: actor.user_id };
    case 'session_actor':
      return { type: 'session', id: actor.session_id };
    default:
      return { type: 'anonymous' };
  }
}

export function timeIn(text: string): number {
  const time = microsecondsOf(text);
  if (time === undefined) throw new HostedStoreError('The memory store sent a time that is not valid.');
  return time;
}

function isStorable(content: string | null | undefined): boolean {
  return typeof content === 'string' && content.isWellFormed() && !content.includes('\0');
}

function sha256Of(content: string): string {
  return createHash('sha256').update(content).digest('hex');
}
