import type { z } from 'zod';
import { MAX_JSON_BYTES_OF_UNIT } from '../../core/lib/json.ts';
import { timeSliced } from '../../core/lib/time-slice.ts';
import { cannotImport, escapeInvisible, type SourceEntry } from './entry.ts';
import {
  type ArchivedDirectory,
  DIRECTORY,
  damagedHistory,
  directorySchema,
  MANIFEST,
  type Manifest,
  manifestSchema,
  PAGE_ROWS,
  type StoredVersion,
  storedVersion,
  versionSchema,
} from './history-format.ts';
import type { HistorySource } from './history-import.ts';
import type { Placement } from './import-tree.ts';
import { closeAll, Spool } from './spool.ts';

const DEFAULT_MAX_FILE_BYTES = 1024 * 1024;
/** Bytes allowed for a version's fields other than its content. */
const FIELDS_BYTES = 64 * 1024;

/**
 * Returns the part of an entry name below the history directory, or undefined if the entry is outside this directory.
 */
function nameInHistory(name: string): string | undefined {
  const names = name.split('/').filter((each) => each !== '' && each !== '.');
  return names[0] === DIRECTORY && !name.startsWith('/') ? names.slice(1).join('/') : undefined;
}

/** Whether an archive entry belongs to a history. A history cannot be imported with `into` or `strip`. */
export function isHistory({ name }: SourceEntry, { into, strip }: Placement): boolean {
  const inside = nameInHistory(name);
  if (into === undefined && strip === undefined) return inside !== undefined;
  if (inside !== MANIFEST) return false;
  throw cannotImport(name, 'entry_history_not_placeable');
}

/** Applies the policy on secrets to a history's parts. */
interface SecretPolicy {
  /** Whether the policy has masked the current file at a path. */
  isMasked: (path: string) => boolean;
  /** Applies the policy to a version's content. */
  inspect: HistorySource['inspect'];
  /** Finds the first path that contains a secret. */
  findSecret: (paths: readonly string[]) => Promise<{ masked: string; kinds: readonly string[] } | undefined>;
}

/**
 * The history in an archive. Its entries may have any order and size, so each entry is validated alone and stored in
 * temporary files. The database validates their consistency.
 */
export class ArchivedHistory implements HistorySource {
  readonly #pages: Record<'heads' | 'versions' | 'directories', Spool<object>>;
  readonly #found = { versions: 0, heads: 0, directories: 0 };
  readonly #policy: SecretPolicy;
  readonly #maxLineBytes: number;
  #manifest: Manifest | undefined;

  private constructor(
    pages: Record<'heads' | 'versions' | 'directories', Spool<object>>,
    policy: SecretPolicy,
    maxLineBytes: number,
  ) {
    this.#pages = pages;
    this.#policy = policy;
    this.#maxLineBytes = maxLineBytes;
  }

  /** @param maxFileBytes the tenant's limit; 0 means no limit */
  static async open(policy: SecretPolicy, maxFileBytes: number): Promise<ArchivedHistory> {
    return new ArchivedHistory(
      await Spool.openAll(['heads', 'versions', 'directories']),
      policy,
      longestLine(maxFileBytes),
    );
  }

  get inspect(): HistorySource['inspect'] {
    return this.#policy.inspect;
  }

  /**
   * Adds the next archive entry with its content.
   *
   * @throws ServiceError if an export cannot have written the entry
   */
  async add({ name, kind }: SourceEntry, content: Buffer): Promise<void> {
    const inside = nameInHistory(name) ?? '';
    if (kind === 'dir') return;
    if (inside === MANIFEST) this.#manifest = this.#parse(name, manifestSchema, content.toString());
    else if (/^versions\/\d+\.ndjson$/.test(inside)) await this.#addVersions(name, content);
    else if (/^directories\/\d+\.ndjson$/.test(inside)) await this.#addDirectories(name, content);
    else throw damagedHistory(`${escapeInvisible(name)} does not belong to it`);
  }

  /**
   * Checks that the history is complete. Call this method after the last entry.
   *
   * @param files the memory's file count
   */
  check(files: number): void {
    const manifest = this.#manifest;
    if (manifest === undefined) throw damagedHistory(`${DIRECTORY}/${MANIFEST} is missing`);
    for (const kind of ['versions', 'directories'] as const) {
      if (this.#found[kind] === manifest[kind]) continue;
      throw damagedHistory(`it has ${this.#found[kind]} ${kind} instead of ${manifest[kind]}`);
    }
    if (this.#found.heads === files) return;
    throw damagedHistory(`it has ${this.#found.heads} live files, and the memory has ${files}`);
  }

  get manifest(): Manifest {
    if (this.#manifest === undefined) throw damagedHistory(`${DIRECTORY}/${MANIFEST} is missing`);
    return this.#manifest;
  }

  async *heads(): AsyncGenerator<StoredVersion[]> {
    for await (const rows of readSpool<StoredVersion>(this.#pages.heads)) {
      yield rows.map((row) => (this.#policy.isMasked(row.path ?? '') ? { ...row, sha256: null } : row));
    }
  }

  versions(): AsyncGenerator<StoredVersion[]> {
    return readSpool(this.#pages.versions);
  }

  directories(): AsyncGenerator<ArchivedDirectory[]> {
    return readSpool(this.#pages.directories);
  }

  async close(): Promise<void> {
    await closeAll(Object.values(this.#pages));
  }

  async #addVersions(name: string, content: Buffer): Promise<void> {
    const rows: StoredVersion[] = [];
    for await (const row of this.#rows(name, versionSchema, content)) rows.push(storedVersion(row));
    this.#found.versions += rows.length;
    await this.#checkPaths(
      name,
      rows.flatMap(({ path }) => path ?? []),
    );
    const heads = rows.filter(({ superseded_at }) => superseded_at === null);
    this.#found.heads += heads.length;
    await addRows(this.#pages.heads, heads);
    await addRows(
      this.#pages.versions,
      rows.filter(({ superseded_at }) => superseded_at !== null),
    );
  }

  async #addDirectories(name: string, content: Buffer): Promise<void> {
    const rows: ArchivedDirectory[] = [];
    for await (const row of this.#rows(name, directorySchema, content)) rows.push(row);
    this.#found.directories += rows.length;
    await this.#checkPaths(
      name,
      rows.map(({ path }) => path),
    );
    await addRows(this.#pages.directories, rows);
  }

  async #checkPaths(name: string, paths: string[]): Promise<void> {
    const found = await this.#policy.findSecret([...new Set(paths)]);
    if (found === undefined) return;
    throw cannotImport(name, 'entry_lists_secret_path', escapeInvisible(found.masked), found.kinds);
  }

  async *#rows<T>(name: string, schema: z.ZodType<T>, content: Buffer): AsyncGenerator<T> {
    let line = 0;
    for await (const json of timeSliced(splitBuffer(content))) {
      if (json === undefined || ++line > PAGE_ROWS)
        throw damagedHistory(`${escapeInvisible(name)} is not a page of at most ${PAGE_ROWS} lines`);
      if (json.length > this.#maxLineBytes)
        throw cannotImport(`${name}, line ${line}`, 'entry_larger_than_any', json.length, this.#maxLineBytes);
      yield this.#parse(`${name}, line ${line}`, schema, json.toString());
    }
  }

  /** Parses and validates a JSON text. Error messages do not quote the text, because it may contain memory content. */
  #parse<T>(place: string, schema: z.ZodType<T>, json: string): T {
    const parsed = schema.safeParse(parseJson(json));
    if (parsed.success) return parsed.data;
    const [issue] = parsed.error.issues;
    throw damagedHistory(
      `${escapeInvisible(place)}: ${issue?.path.join('.') || 'the line'} is not valid in an export`,
    );
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Returns a line's maximum size in bytes. Parsing a line blocks the event loop. A version may be from a time with a
 * higher file limit, so the result is at least the size for the default limit.
 */
function longestLine(maxFileBytes: number): number {
  if (maxFileBytes === 0) return Number.POSITIVE_INFINITY;
  return MAX_JSON_BYTES_OF_UNIT * Math.max(maxFileBytes, DEFAULT_MAX_FILE_BYTES) + FIELDS_BYTES;
}

/** Splits a page into lines. Yields undefined for a last line without a line feed. */
function* splitBuffer(content: Buffer): Generator<Buffer | undefined> {
  for (let from = 0; from < content.length; ) {
    const end = content.indexOf('\n', from);
    yield end === -1 ? undefined : content.subarray(from, end);
    if (end === -1) return;
    from = end + 1;
  }
}

async function addRows(spool: Spool<object>, rows: object[]): Promise<void> {
  for await (const row of timeSliced(rows)) await spool.add({}, Buffer.from(JSON.stringify(row)));
}

async function* readSpool<T>(spool: Spool<object>): AsyncGenerator<T[]> {
  for await (const batch of spool.batches()) {
    const rows: T[] = [];
    for await (const { content } of timeSliced(batch)) rows.push(JSON.parse(content));
    yield rows;
  }
}
