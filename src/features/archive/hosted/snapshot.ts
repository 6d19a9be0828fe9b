import { formatMicroseconds } from '../../../core/lib/rfc3339.ts';
import { ancestorPaths, type MemoryPath } from '../../../core/memory/path.ts';
import type { SourceEntry } from '../entry.ts';
import {
  type ArchivedDirectory,
  type ArchivedVersion,
  DIRECTORY,
  MANIFEST,
  type Manifest,
  PAGE_BYTES,
  PAGE_ROWS,
} from '../history-format.ts';
import type { HostedMemory, HostedVersion } from './hosted-client.ts';
import type { HostedStore } from './hosted-store.ts';
import { timeIn, VersionLines } from './hosted-versions.ts';

/** Minimum retention for versions in the hosted API. */
const RETENTION_MICROSECONDS = 30 * 24 * 3600 * 1_000_000;

export interface Read {
  /** Called with the number of versions read so far. */
  onVersion?: (versions: number) => void;
  /** Called at the end with the number of versions that this service cannot store. */
  onLeftOut?: (versions: number) => void;
}

/**
 * Reads a store with its versions as archive entries with a history. The result is the state at the time of the first
 * version page. Versions are listed newest first, so later changes precede the first page and are not read.
 */
export async function* readWithVersions(
  store: HostedStore,
  { onVersion, onLeftOut }: Read = {},
): AsyncGenerator<SourceEntry> {
  const { created_at } = await store.retrieve();
  const lines = new VersionLines();
  const versions = new Pages<ArchivedVersion>('versions');
  let read = 0;
  let newest: number | undefined;
  for await (const version of store.versions()) {
    newest ??= timeIn(version.created_at);
    onVersion?.(++read);
    yield* versionEntries(version, lines.add(version), versions);
  }
  for await (const memory of store.memories('full')) {
    const isLater = newest !== undefined && timeIn(memory.created_at) > newest;
    if (!isLater && !lines.has(memory.id)) yield* versionEntries(memory, lines.addHead(memory), versions);
  }
  yield* versions.end();
  const directories = new Pages<ArchivedDirectory>('directories');
  for (const row of lines.directories()) yield* directories.add(row);
  yield* directories.end();

  const created = timeIn(created_at);
  const since = Math.max(created, lines.completeSince, Date.now() * 1000 - RETENTION_MICROSECONDS);
  yield toJsonEntry(MANIFEST, {
    format: 1,
    created_at: formatMicroseconds(created),
    complete_since: formatMicroseconds(since),
    versions: versions.rows,
    directories: directories.rows,
  } satisfies Manifest);
  if (lines.leftOut > 0) onLeftOut?.(lines.leftOut);
}

/** Converts a memory to a file in an archive. */
export function toFileEntry(
  path: string,
  { content, updated_at }: Pick<HostedMemory, 'content' | 'updated_at'>,
): SourceEntry {
  return entry(`memories${path}`, content ?? '', new Date(updated_at));
}

/** Converts a version to a history line. A current version also yields a file. */
function* versionEntries(
  from: HostedVersion | HostedMemory,
  line: ArchivedVersion | undefined,
  pages: Pages<ArchivedVersion>,
): Generator<SourceEntry> {
  if (line === undefined) return;
  if (line.superseded_at === null) {
    yield toFileEntry(from.path ?? '', { content: from.content, updated_at: line.created_at });
  }
  yield* pages.add(line);
}

/** Collects lines into pages. */
class Pages<Row extends object> {
  readonly #directory: string;
  #lines: string[] = [];
  #bytes = 0;
  #pages = 0;
  rows = 0;

  constructor(directory: 'versions' | 'directories') {
    this.#directory = directory;
  }

  *add(row: Row): Generator<SourceEntry> {
    const line = `${JSON.stringify(row)}\n`;
    this.#lines.push(line);
    this.#bytes += Buffer.byteLength(line);
    this.rows++;
    if (this.#lines.length === PAGE_ROWS || this.#bytes >= PAGE_BYTES) yield* this.end();
  }

  *end(): Generator<SourceEntry> {
    if (this.#lines.length === 0) return;
    this.#pages++;
    const name = `${this.#directory}/${String(this.#pages).padStart(6, '0')}.ndjson`;
    yield entry(`${DIRECTORY}/${name}`, this.#lines.join(''), new Date());
    this.#lines = [];
    this.#bytes = 0;
  }
}

function toJsonEntry(name: string, content: object): SourceEntry {
  return entry(`${DIRECTORY}/${name}`, JSON.stringify(content), new Date());
}

function entry(name: string, content: string, modified: Date): SourceEntry {
  const bytes = Buffer.from(content);
  return { name, kind: 'file', bytes: bytes.length, modified, content: singleChunk(bytes) };
}

async function* singleChunk(content: Uint8Array): AsyncGenerator<Uint8Array> {
  yield content;
}

/**
 * An import destination that already has files or a history. `files` maps each existing path to the file's SHA-256 in
 * hexadecimal.
 */
export interface Destination {
  files: ReadonlyMap<string, string>;
  /** Returns the file path for a memory. */
  placePath: (path: string) => string;
  /**
   * Whether the destination has stored this content in a file with another hash, because the content is partly masked
   * there.
   */
  isMasked: (place: MemoryPath, content: string) => Promise<boolean>;
}

/**
 * A hosted store to import: with its versions, or only the memories that are missing at the destination. The counts are
 * valid after all entries were read.
 */
export class HostedSource {
  /** Number of memories that already exist at the destination. */
  unchanged = 0;
  /** Memories that are not imported, because another entry occupies their path. */
  readonly differing: string[] = [];
  /** Number of versions that this service cannot store. */
  versionsLeftOut = 0;
  readonly #store: HostedStore;

  constructor(store: HostedStore) {
    this.#store = store;
  }

  withVersions(onVersion: (versions: number) => void): AsyncGenerator<SourceEntry> {
    const onLeftOut = (versions: number) => {
      this.versionsLeftOut = versions;
    };
    return readWithVersions(this.#store, { onVersion, onLeftOut });
  }

  async *missingFrom({ files, placePath, isMasked }: Destination): AsyncGenerator<SourceEntry> {
    const directories = new Set([...files.keys()].flatMap((path) => ancestorPaths(path as MemoryPath)));
    for await (const memory of this.#store.memories('full')) {
      const { path, content_sha256: sha256, content } = memory;
      const place = placePath(path) as MemoryPath;
      const there = files.get(place);
      if (there === undefined) {
        const isFree = !directories.has(place) && !ancestorPaths(place).some((above) => files.has(above));
        if (isFree) yield toFileEntry(path, memory);
        else this.differing.push(path);
      } else if (there === sha256 || (await isMasked(place, content ?? ''))) this.unchanged++;
      else this.differing.push(path);
    }
  }
}
