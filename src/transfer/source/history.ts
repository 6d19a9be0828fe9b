import type { z } from 'zod';
import {
  type ArchivedDirectory,
  damagedHistory,
  directorySchema,
  FOLDER,
  MANIFEST,
  type Manifest,
  manifestSchema,
  PAGE_ROWS,
  type StoredVersion,
  storedVersion,
  versionSchema,
} from '../history-format.ts';
import type { HistorySource } from '../history-import.ts';
import { cannotImport, printable, type SourceEntry } from './entry.ts';
import { Spool } from './spool.ts';
import type { Placement } from './tree.ts';

/** More than a page with the longest paths and texts has. */
const MAX_PAGE_BYTES = 16 * 1024 * 1024;
const CONTENT = /^contents\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

/** A checked content, and whether the policy on secrets has changed it. */
export interface CheckedContent {
  bytes: Buffer;
  isMasked: boolean;
}

/** The part of a name below the folder of the history; undefined for a name that is not in it. */
function nameInHistory(name: string): string | undefined {
  const names = name.split('/').filter((each) => each !== '' && each !== '.');
  return names[0] === FOLDER && !name.startsWith('/') ? names.slice(1).join('/') : undefined;
}

/** Whether an entry is part of a history. Where files are placed otherwise, its names have no meaning. */
export function isHistory({ name }: SourceEntry, { into, strip }: Placement): boolean {
  const inside = nameInHistory(name);
  if (into === undefined && strip === undefined) return inside !== undefined;
  if (inside !== MANIFEST) return false;
  throw cannotImport(
    name,
    'an archive with a history cannot be placed with --into or --strip. Unpack it, and import its folder memories.',
  );
}

/**
 * The history in an archive, whose entries come in any order. Each is checked by itself and kept in temporary files, since there may be
 * many. Whether they fit together, the database says.
 */
export class ArchivedHistory implements HistorySource {
  readonly #contents: Spool<{ id: string }>;
  readonly #pages: Record<'heads' | 'versions' | 'directories', Spool<object>>;
  readonly #found = { versions: 0, contents: 0, directories: 0 };
  /** Where the live file with a content is. */
  readonly #headPaths = new Map<string, string>();
  readonly #isMasked: (pathOrContent: string) => boolean;
  #manifest: Manifest | undefined;

  private constructor(
    contents: Spool<{ id: string }>,
    pages: Record<'heads' | 'versions' | 'directories', Spool<object>>,
    isMasked: (pathOrContent: string) => boolean,
  ) {
    this.#contents = contents;
    this.#pages = pages;
    this.#isMasked = isMasked;
  }

  /** @param isMasked whether the policy on secrets has changed the live file at a path, or the content with an id */
  static async open(isMasked: (pathOrContent: string) => boolean): Promise<ArchivedHistory> {
    const contents = await Spool.open<{ id: string }>();
    const pages = {
      heads: await Spool.open<object>(),
      versions: await Spool.open<object>(),
      directories: await Spool.open<object>(),
    };
    return new ArchivedHistory(contents, pages, isMasked);
  }

  /**
   * Takes the next entry of the archive, with its content.
   *
   * @returns the id of a content, which a caller may have masked
   * @throws OperatorError when it is not what an export writes
   */
  async add({ name, kind }: SourceEntry, content: Buffer): Promise<string | undefined> {
    const inside = nameInHistory(name) ?? '';
    if (kind === 'dir') return undefined;
    const id = CONTENT.exec(inside)?.[1];
    if (id !== undefined) {
      this.#found.contents++;
      await this.#contents.add({ id }, content);
      return id;
    }
    if (inside === MANIFEST) this.#manifest = this.#parse(name, manifestSchema, content.toString());
    else if (/^versions\/\d+\.ndjson$/.test(inside)) await this.#addVersions(name, content);
    else if (/^directories\/\d+\.ndjson$/.test(inside)) await this.#addDirectories(name, content);
    else throw damagedHistory(`${printable(name)} is nothing that belongs to it`);
    return undefined;
  }

  /** To be called after the last entry. @param files how many files the memory has */
  check(files: number): void {
    const manifest = this.#manifest;
    if (manifest === undefined) throw damagedHistory(`${FOLDER}/${MANIFEST} is missing`);
    for (const kind of ['versions', 'contents', 'directories'] as const) {
      if (this.#found[kind] === manifest[kind]) continue;
      throw damagedHistory(`it has ${this.#found[kind]} ${kind}, and should have ${manifest[kind]}`);
    }
    if (this.#headPaths.size === files) return;
    throw damagedHistory(`it knows ${this.#headPaths.size} live files, and the memory has ${files}`);
  }

  get manifest(): Manifest {
    if (this.#manifest === undefined) throw damagedHistory(`${FOLDER}/${MANIFEST} is missing`);
    return this.#manifest;
  }

  contents() {
    return this.#contents.batches();
  }

  async *heads(): AsyncGenerator<StoredVersion[]> {
    for await (const rows of pagesOf<StoredVersion>(this.#pages.heads)) {
      yield rows.map((row) => (this.#isMasked(row.path ?? '') ? { ...row, sha256: null } : row));
    }
  }

  async *versions(): AsyncGenerator<(StoredVersion & { head_path: string | null })[]> {
    for await (const rows of pagesOf<StoredVersion>(this.#pages.versions)) {
      yield rows.map((row) => {
        const head_path = this.#headPaths.get(row.content_id ?? '') ?? null;
        const isMasked = this.#isMasked(head_path ?? row.content_id ?? '');
        return { ...row, head_path, sha256: isMasked ? null : row.sha256 };
      });
    }
  }

  directories(): AsyncGenerator<ArchivedDirectory[]> {
    return pagesOf(this.#pages.directories);
  }

  async close(): Promise<void> {
    await Promise.all([this.#contents, ...Object.values(this.#pages)].map((spool) => spool.close()));
  }

  async #addVersions(name: string, content: Buffer): Promise<void> {
    const rows = this.#rows(name, versionSchema, content).map(storedVersion);
    this.#found.versions += rows.length;
    const heads = rows.filter(({ superseded_at }) => superseded_at === null);
    for (const { path, content_id } of heads) this.#headPaths.set(content_id ?? '', path ?? '');
    await addPage(this.#pages.heads, heads);
    await addPage(
      this.#pages.versions,
      rows.filter(({ superseded_at }) => superseded_at !== null),
    );
  }

  async #addDirectories(name: string, content: Buffer): Promise<void> {
    const rows = this.#rows(name, directorySchema, content);
    this.#found.directories += rows.length;
    await addPage(this.#pages.directories, rows);
  }

  #rows<T>(name: string, schema: z.ZodType<T>, content: Buffer): T[] {
    const lines = content.toString().split('\n');
    if (lines.pop() !== '' || lines.length > PAGE_ROWS || content.length > MAX_PAGE_BYTES) {
      throw damagedHistory(`${printable(name)} is no page of at most ${PAGE_ROWS} lines`);
    }
    return lines.map((line, i) => this.#parse(`${name}, line ${i + 1}`, schema, line));
  }

  /** The text itself is in no message: it may quote a memory. */
  #parse<T>(place: string, schema: z.ZodType<T>, json: string): T {
    const parsed = schema.safeParse(parseJson(json));
    if (parsed.success) return parsed.data;
    const [issue] = parsed.error.issues;
    throw damagedHistory(
      `${printable(place)}: ${issue?.path.join('.') || 'it'} is not as an export writes it`,
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

async function addPage(spool: Spool<object>, rows: object[]): Promise<void> {
  if (rows.length > 0) await spool.add({}, Buffer.from(JSON.stringify(rows)));
}

async function* pagesOf<T>(spool: Spool<object>): AsyncGenerator<T[]> {
  for await (const batch of spool.batches()) for (const { content } of batch) yield JSON.parse(content);
}
