import {
  type ArchivedDirectory,
  type ArchivedVersion,
  FOLDER,
  MANIFEST,
  type Manifest,
  PAGE_BYTES,
  PAGE_ROWS,
} from '../archive/history-format.ts';
import type { SourceEntry } from '../archive/source/entry.ts';
import { timeOf } from '../util/rfc3339.ts';
import type { HostedMemory, HostedVersion } from './schemas.ts';
import type { HostedStore } from './store.ts';
import { timeIn, VersionLines } from './version-lines.ts';

/** The hosted API keeps versions at least this long. */
const RETENTION_MICROSECONDS = 30 * 24 * 3600 * 1_000_000;

export interface Read {
  /** Called with the number of versions read so far. */
  onVersion?: (versions: number) => void;
  /** Called at the end with the number of versions that this service cannot have. */
  onLeftOut?: (versions: number) => void;
}

/**
 * Reads a store with its versions, as the entries of an archive with a history: as of the moment when the first page of versions is read. Later
 * changes come before that page, and so are not seen.
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
    yield* entriesOf(version, lines.add(version), versions);
  }
  for await (const memory of store.memories('full')) {
    const isLater = newest !== undefined && timeIn(memory.created_at) > newest;
    if (!isLater && !lines.has(memory.id)) yield* entriesOf(memory, lines.addHead(memory), versions);
  }
  yield* versions.end();
  const directories = new Pages<ArchivedDirectory>('directories');
  for (const row of lines.directories()) yield* directories.add(row);
  yield* directories.end();

  const created = timeIn(created_at);
  const since = Math.max(created, lines.completeSince, Date.now() * 1000 - RETENTION_MICROSECONDS);
  yield entryOf(MANIFEST, {
    format: 1,
    created_at: timeOf(created),
    complete_since: timeOf(since),
    versions: versions.rows,
    directories: directories.rows,
  } satisfies Manifest);
  if (lines.leftOut > 0) onLeftOut?.(lines.leftOut);
}

/** A memory as a file of an archive. */
export function fileOf(
  path: string,
  { content, updated_at }: Pick<HostedMemory, 'content' | 'updated_at'>,
): SourceEntry {
  return entry(`memories${path}`, content ?? '', new Date(updated_at));
}

/** A version as a line and, that of a live memory, as a file as well. */
function* entriesOf(
  from: HostedVersion | HostedMemory,
  line: ArchivedVersion | undefined,
  pages: Pages<ArchivedVersion>,
): Generator<SourceEntry> {
  if (line === undefined) return;
  if (line.superseded_at === null) {
    yield fileOf(from.path ?? '', { content: from.content, updated_at: line.created_at });
  }
  yield* pages.add(line);
}

/** Collects lines until they are a page. */
class Pages<Row extends object> {
  readonly #folder: string;
  #lines: string[] = [];
  #bytes = 0;
  #pages = 0;
  rows = 0;

  constructor(folder: 'versions' | 'directories') {
    this.#folder = folder;
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
    const name = `${this.#folder}/${String(this.#pages).padStart(6, '0')}.ndjson`;
    yield entry(`${FOLDER}/${name}`, this.#lines.join(''), new Date());
    this.#lines = [];
    this.#bytes = 0;
  }
}

function entryOf(name: string, content: object): SourceEntry {
  return entry(`${FOLDER}/${name}`, JSON.stringify(content), new Date());
}

function entry(name: string, content: string, modified: Date): SourceEntry {
  const bytes = Buffer.from(content);
  return { name, kind: 'file', bytes: bytes.length, modified, content: once(bytes) };
}

async function* once(content: Uint8Array): AsyncGenerator<Uint8Array> {
  yield content;
}
