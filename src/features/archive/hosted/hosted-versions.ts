import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { formatMicroseconds, parseMicroseconds } from '../../../core/lib/rfc3339.ts';
import type { Actor } from '../../../core/memory/origin.ts';
import { ancestorPaths, type MemoryPath, ROOT } from '../../../core/memory/path.ts';
import { toFilePath, toUuid } from '../../../core/tenants/store-ids.ts';
import { escapeInvisible } from '../entry.ts';
import type { ArchivedDirectory, ArchivedVersion } from '../history-format.ts';
import {
  type HostedActor,
  type HostedMemory,
  HostedStoreError,
  type HostedVersion,
} from './hosted-client.ts';

/** Start and end in microseconds since 1970. The end is infinity for current entries. */
interface Period {
  since: number;
  until: number;
}

/**
 * Computes the periods in which directories existed. The Memory Stores API only knows files, so a directory exists
 * while a file is below it.
 */
export class DirectoryTimes {
  readonly #periods = new Map<MemoryPath, Period[]>();

  /** Records a period in which a file was at a path, and thereby its ancestor directories existed. */
  add(path: MemoryPath, period: Period): void {
    for (const directory of ancestorPaths(path)) {
      if (directory === ROOT) continue;
      const periods = this.#periods.get(directory);
      if (periods === undefined) this.#periods.set(directory, [period]);
      else periods.push(period);
    }
  }

  *rows(): Generator<ArchivedDirectory> {
    for (const [path, periods] of this.#periods) {
      for (const { since, until } of joinPeriods(periods)) {
        const removed_at = until === Number.POSITIVE_INFINITY ? null : formatMicroseconds(until);
        yield { path, created_at: formatMicroseconds(since), removed_at };
      }
    }
  }
}

/** Joins overlapping and adjacent periods. */
function joinPeriods(periods: readonly Period[]): Period[] {
  const whole: Period[] = [];
  for (const { since, until } of [...periods].sort((one, other) => one.since - other.since)) {
    const last = whole.at(-1);
    if (last !== undefined && since <= last.until) last.until = Math.max(last.until, until);
    else whole.push({ since, until });
  }
  return whole;
}

/*
 * Computes the IDs for imported versions. IDs from this service are kept. Other IDs are hashed, so that a repeated
 * import creates the same IDs.
 */

const hashId = (id: string) => createHash('sha256').update(id).digest('hex');

function addHyphens(digits: string): string {
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

export function memoryUuid(id: string): string {
  const hash = hashId(id);
  return toUuid('mem', id) ?? addHyphens(`${hash.slice(0, 12)}8${hash.slice(12, 15)}8${hash.slice(15, 30)}`);
}

/**
 * Returns a version ID that begins with the time in microseconds since 1970, like `memory_id_prefix` in
 * migrations/functions/memory_history.sql.
 */
export function versionUuid(id: string, at: number): string {
  const milliseconds = Math.floor(at / 1000);
  const fraction = Math.floor(((at - milliseconds * 1000) * 4096) / 1000);
  const prefix = milliseconds.toString(16).padStart(12, '0') + (0x7000 + fraction).toString(16);
  const kept = toUuid('memver', id);
  if (kept?.replaceAll('-', '').startsWith(prefix)) return kept;
  return addHyphens(`${prefix}8${hashId(id).slice(0, 15)}`);
}

/** A version's stored content: the whole text, or a splice of the next newer version. */
export interface KeptText {
  splice_start: number | null;
  splice_length: number | null;
  content: string;
}

/**
 * Maximum bytes that newer contents use in memory for comparisons. A content whose newer version was dropped is stored
 * whole.
 */
const HELD_BYTES = 64 * 1024 * 1024;
/** Limit on the splices needed to reconstruct a content. */
const LONGEST_CHAIN = 255;

interface Newer {
  bytes: Buffer;
  /** Number of splices needed to reconstruct this content. */
  splices: number;
}

/** Converts contents to splices. Each memory's versions are added newest first. */
export class Splices {
  readonly #newer = new LRUCache<string, Newer>({
    maxSize: HELD_BYTES,
    sizeCalculation: ({ bytes }) => bytes.length + 100,
  });

  /**
   * Causes a memory's next added version to be stored whole, because the next newer version has no content or is
   * current.
   */
  restart(memory: string): void {
    this.#newer.delete(memory);
  }

  add(memory: string, content: string): KeptText {
    const bytes = Buffer.from(content);
    const newer = this.#newer.get(memory);
    const splice =
      newer === undefined || newer.splices === LONGEST_CHAIN ? undefined : findSplice(newer.bytes, bytes);
    const isSmaller = splice !== undefined && splice.text.length < bytes.length;
    this.#newer.set(memory, { bytes, splices: isSmaller ? (newer?.splices ?? 0) + 1 : 0 });
    if (!isSmaller) return { splice_start: null, splice_length: null, content };
    return { splice_start: splice.start, splice_length: splice.length, content: splice.text.toString() };
  }
}

/**
 * Finds the shortest byte range in `from` that must be replaced by `text` to get `to`. The range starts and ends at
 * character boundaries.
 */
function findSplice(from: Buffer, to: Buffer): { start: number; length: number; text: Buffer } {
  const shorter = Math.min(from.length, to.length);
  let start = 0;
  while (start < shorter && from[start] === to[start]) start++;
  while (start > 0 && (isInCharacter(from, start) || isInCharacter(to, start))) start--;
  let same = 0;
  while (same < shorter - start && from[from.length - 1 - same] === to[to.length - 1 - same]) same++;
  while (same > 0 && isInCharacter(from, from.length - same)) same--;
  return { start, length: from.length - same - start, text: to.subarray(start, to.length - same) };
}

/** Whether a byte continues a UTF-8 character. */
function isInCharacter(bytes: Buffer, index: number): boolean {
  return ((bytes[index] ?? 0) & 0xc0) === 0x80;
}

/** A memory's state after the newest versions have been read. Times are in microseconds since 1970. */
interface Lineage {
  /** Start of the oldest version read. */
  begins: number;
  /** Whether the oldest version read created the memory. */
  isComplete: boolean;
  /** Period in which the file was at one path, extended while older versions have the same path. */
  stay: { path: MemoryPath; since: number; until: number } | undefined;
}

/** Converts a hosted store's versions, newest first, to archive lines. */
export class VersionLines {
  readonly #lineages = new Map<string, Lineage>();
  readonly #splices = new Splices();
  readonly #directories = new DirectoryTimes();
  /** Time before which versions are missing. */
  #gap = 0;
  /** Number of superseded versions whose path or content this service cannot store. */
  leftOut = 0;

  /** Whether a version has been read for a memory, by the memory's ID in the store. */
  has(memory: string): boolean {
    return this.#lineages.has(memoryUuid(memory));
  }

  /** Converts a version, or returns undefined if the version is omitted. */
  add(version: HostedVersion): ArchivedVersion | undefined {
    const memory = memoryUuid(version.memory_id);
    const newer = this.#lineages.get(memory);
    const isDeletion = version.operation === 'deleted';
    const isRedacted = version.redacted_at != null;
    const isHead = newer === undefined && !isDeletion && !isRedacted;
    if (isHead) requireFile(version);
    // A version ends when its memory's next version starts, even if clocks differ.
    const begins = Math.min(timeIn(version.created_at), (newer?.begins ?? Number.POSITIVE_INFINITY) - 1);
    const ends = isHead ? null : isDeletion ? begins : (newer?.begins ?? begins);
    const path = version.path == null ? undefined : toFilePath(version.path);
    const isKept = isRedacted || (path !== undefined && (isDeletion || isStorable(version.content)));

    const lineage = newer ?? { begins, isComplete: false, stay: undefined };
    this.#lineages.set(memory, lineage);
    lineage.begins = begins;
    lineage.isComplete = version.operation === 'created';
    this.#addStay(lineage, isKept && !isDeletion && !isRedacted ? path : undefined, ends);
    // An invalid current version is not omitted: the import rejects it and names it in the error.
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
      content_sha256: content === null ? null : (version.content_sha256 ?? hashContent(content)),
      content_size_bytes: content === null ? null : Buffer.byteLength(content),
      created_at: formatMicroseconds(begins),
      superseded_at: ends === null ? null : formatMicroseconds(ends),
      actor: toActor(version.created_by),
      request_id: null,
      tool_use_id: null,
      via_tenant: null,
      source: null,
      draft: null,
      approved_by: null,
      redacted_at: version.redacted_at == null ? null : formatMicroseconds(timeIn(version.redacted_at)),
      redacted_by: isRedacted ? toActor(version.redacted_by) : null,
      ...this.#keptText(memory, isHead ? null : content),
    };
  }

  /** Adds the current version for a memory whose versions are no longer available. */
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

  /** Returns the periods for all directories. Call this method after the last version. */
  directories(): Iterable<ArchivedDirectory> {
    for (const lineage of this.#lineages.values()) this.#addStay(lineage, undefined, null);
    return this.#directories.rows();
  }

  /** Time since which the history is complete. */
  get completeSince(): number {
    let since = this.#gap;
    for (const { isComplete, begins } of this.#lineages.values()) {
      if (!isComplete) since = Math.max(since, begins);
    }
    return since;
  }

  /** Records a file's path in a version; undefined if the version has no file. */
  #addStay(lineage: Lineage, path: MemoryPath | undefined, ends: number | null): void {
    const { stay, begins } = lineage;
    const until = ends ?? Number.POSITIVE_INFINITY;
    if (stay !== undefined && stay.path === path && stay.since === until) {
      stay.since = begins;
      return;
    }
    if (stay !== undefined) this.#directories.add(stay.path, stay);
    lineage.stay = path === undefined ? undefined : { path, since: begins, until };
  }

  #keptText(memory: string, content: string | null) {
    if (content !== null) return this.#splices.add(memory, content);
    this.#splices.restart(memory);
    return { splice_start: null, splice_length: null, content: null };
  }
}

function toActor(actor: HostedActor): Actor {
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

/** @throws HostedStoreError if a current version has no path or no content, which would be imported as an empty file */
function requireFile({ id, memory_id, path, content }: HostedVersion): void {
  const missing = path == null ? 'path' : content == null ? 'content' : undefined;
  if (missing === undefined) return;
  const name = `${escapeInvisible(id)} of ${escapeInvisible(memory_id)}`;
  throw new HostedStoreError(
    `The store sent a memory version that cannot be read: ${name} (${missing}: is missing in a current version).`,
  );
}

export function timeIn(text: string): number {
  const time = parseMicroseconds(text);
  if (time === undefined) throw new HostedStoreError('The memory store sent a time that is not valid.');
  return time;
}

function isStorable(content: string | null | undefined): boolean {
  return typeof content === 'string' && content.isWellFormed() && !content.includes('\0');
}

function hashContent(content: string): string {
  return createHash('sha256').update(content).digest('hex');
}
