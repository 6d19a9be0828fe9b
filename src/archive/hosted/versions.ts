import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { microsecondsOf, timeOf } from '../../lib/rfc3339.ts';
import type { Actor } from '../../memory/origin.ts';
import { ancestorsOf, type MemoryPath, ROOT } from '../../memory/path.ts';
import { filePathOf, uuidOf } from '../../tenants/store-ids.ts';
import type { ArchivedDirectory, ArchivedVersion } from '../history-format.ts';
import { type HostedActor, type HostedMemory, HostedStoreError, type HostedVersion } from './client.ts';

/** From and until, in microseconds since 1970; infinity for what is there. */
interface Period {
  since: number;
  until: number;
}

/** When there were directories: while a file was below them, because the Memory Stores API knows only files. */
export class DirectoryTimes {
  readonly #periods = new Map<MemoryPath, Period[]>();

  /** A file was at a path. */
  add(path: MemoryPath, period: Period): void {
    for (const directory of ancestorsOf(path)) {
      if (directory === ROOT) continue;
      const periods = this.#periods.get(directory);
      if (periods === undefined) this.#periods.set(directory, [period]);
      else periods.push(period);
    }
  }

  *rows(): Generator<ArchivedDirectory> {
    for (const [path, periods] of this.#periods) {
      for (const { since, until } of joined(periods)) {
        const removed_at = until === Number.POSITIVE_INFINITY ? null : timeOf(until);
        yield { path, created_at: timeOf(since), removed_at };
      }
    }
  }
}

/** The periods that others make when those that overlap or meet are one. */
function joined(periods: readonly Period[]): Period[] {
  const whole: Period[] = [];
  for (const { since, until } of [...periods].sort((one, other) => one.since - other.since)) {
    const last = whole.at(-1);
    if (last !== undefined && since <= last.until) last.until = Math.max(last.until, until);
    else whole.push({ since, until });
  }
  return whole;
}

/*
 * The ids of imported versions. Those of this service stay what they are; others are hashed, so that importing again
 * makes the same.
 */

const hashOf = (id: string) => createHash('sha256').update(id).digest('hex');

function withHyphens(digits: string): string {
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

export function memoryUuid(id: string): string {
  const hash = hashOf(id);
  return uuidOf('mem', id) ?? withHyphens(`${hash.slice(0, 12)}8${hash.slice(12, 15)}8${hash.slice(15, 30)}`);
}

/** Begins with the time, in microseconds since 1970: `memory_id_prefix` in migrations/functions/memory_history.sql. */
export function versionUuid(id: string, at: number): string {
  const milliseconds = Math.floor(at / 1000);
  const fraction = Math.floor(((at - milliseconds * 1000) * 4096) / 1000);
  const prefix = milliseconds.toString(16).padStart(12, '0') + (0x7000 + fraction).toString(16);
  const kept = uuidOf('memver', id);
  if (kept?.replaceAll('-', '').startsWith(prefix)) return kept;
  return withHyphens(`${prefix}8${hashOf(id).slice(0, 15)}`);
}

/** What an archive keeps of a content: the whole, or what makes it of the next newer version. */
export interface KeptText {
  splice_start: number | null;
  splice_length: number | null;
  content: string;
}

/** How many bytes of newer contents are kept for comparison. Without them, a content is stored whole. */
const HELD_BYTES = 64 * 1024 * 1024;
/** No content takes more splices than this to make. */
const LONGEST_CHAIN = 255;

interface Newer {
  bytes: Buffer;
  /** How many splices make it. */
  splices: number;
}

/** Turns contents into splices as they come, the newest of a memory first. */
export class Splices {
  readonly #newer = new LRUCache<string, Newer>({
    maxSize: HELD_BYTES,
    sizeCalculation: ({ bytes }) => bytes.length + 100,
  });

  /** The next older version of a memory is kept as a whole: the one before has no content, or that of a live file. */
  restart(memory: string): void {
    this.#newer.delete(memory);
  }

  add(memory: string, content: string): KeptText {
    const bytes = Buffer.from(content);
    const newer = this.#newer.get(memory);
    const splice =
      newer === undefined || newer.splices === LONGEST_CHAIN ? undefined : spliceOf(newer.bytes, bytes);
    const isSmaller = splice !== undefined && splice.text.length < bytes.length;
    this.#newer.set(memory, { bytes, splices: isSmaller ? (newer?.splices ?? 0) + 1 : 0 });
    if (!isSmaller) return { splice_start: null, splice_length: null, content };
    return { splice_start: splice.start, splice_length: splice.length, content: splice.text.toString() };
  }
}

/** The shortest range of bytes of `from`, of whole characters, whose replacement by `text` makes `to` of it. */
function spliceOf(from: Buffer, to: Buffer): { start: number; length: number; text: Buffer } {
  const shorter = Math.min(from.length, to.length);
  let start = 0;
  while (start < shorter && from[start] === to[start]) start++;
  while (start > 0 && (isInCharacter(from, start) || isInCharacter(to, start))) start--;
  let same = 0;
  while (same < shorter - start && from[from.length - 1 - same] === to[to.length - 1 - same]) same++;
  while (same > 0 && isInCharacter(from, from.length - same)) same--;
  return { start, length: from.length - same - start, text: to.subarray(start, to.length - same) };
}

/** Whether a byte continues a character of UTF-8. */
function isInCharacter(bytes: Buffer, index: number): boolean {
  return ((bytes[index] ?? 0) & 0xc0) === 0x80;
}

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
