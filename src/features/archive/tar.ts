import { isUtf8 } from 'node:buffer';
import { once } from 'node:events';
import { PassThrough, Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type Extract, extract, type Header, type Pack, pack } from 'tar-stream';
import { ServiceError } from '../../core/errors/errors.ts';
import { asByte, cannotImport, type SourceEntry } from './entry.ts';
import type { Exported } from './export-entries.ts';

/**
 * Maximum bytes between two contents. Exceeds any valid entry's headers, and the padding that any tar program writes at
 * the end.
 */
const MOST = 16 * 1024 * 1024;

/**
 * An archive's bytes outside its entries' contents: the headers before the next entry, and the end. Needed because
 * tar-stream decodes headers, some of them irreversibly.
 */
class HeaderBytes {
  #held: Uint8Array[] = [];
  #length = 0;
  /** Offset in the archive where `held` starts. */
  #start = 0;
  #passed = 0;

  /** @throws ServiceError if the bytes exceed any valid archive's headers */
  push(chunk: Uint8Array): void {
    const wanted = chunk.subarray(Math.max(0, this.#start - this.#passed));
    this.#passed += chunk.length;
    if (wanted.length > 0) this.#held.push(wanted);
    this.#length += wanted.length;
    if (this.#length > MOST) {
      throw new ServiceError('not_an_archive');
    }
  }

  /** Returns the bytes before an entry, whose content starts at `from` and ends before `to`. */
  before(from: number, to: number): Buffer {
    const held = this.rest();
    const left = held.subarray(to - this.#start);
    const headers = held.subarray(0, from - this.#start);
    this.#held = [left];
    this.#length = left.length;
    this.#start = to;
    return headers;
  }

  /** Returns the bytes after the last entry. */
  rest(): Buffer {
    const [first] = this.#held;
    return this.#held.length === 1 && first
      ? Buffer.from(first.buffer, first.byteOffset, first.length)
      : Buffer.concat(this.#held);
  }
}

// The reasons for tar-stream over node-tar: docs/decisions/0007-tar-stream.md.

const BLOCK = 512;
/** The latest time, in seconds since 1970, that tar-stream can write into a plain header. */
const LAST_PLAIN_TIME = 2 ** 31 - 1;

/**
 * Writes an archive. `fill` adds the entries, and each `add` waits until the output accepts more.
 *
 * @param end whether to end `output` after the archive
 */
export async function writeTar(
  output: Writable,
  end: boolean,
  fill: (add: (entry: Exported | SourceEntry) => Promise<void>) => Promise<unknown>,
): Promise<void> {
  const archive = pack();
  // `Readable.from`, because a pack's `pipe` method ignores `end`.
  const flowing = pipeline(Readable.from(archive), output, { end });
  const failed = flowing.catch(() => {});
  try {
    await fill(async (entry) => {
      await ('name' in entry ? copyEntry(archive, entry) : addEntry(archive, entry));
      // The pack applies no backpressure to directories.
      if (output.writableNeedDrain) await Promise.race([once(output, 'drain'), flowing]);
    });
    archive.finalize();
    await flowing;
  } catch (error) {
    // Destroying the archive also fails the output, so only an earlier output error is the cause.
    const cause = output.errored ?? error;
    archive.destroy();
    await failed;
    throw cause;
  }
}

function addEntry(archive: Pack, entry: Exported): Promise<void> {
  const { path, kind, modified } = entry;
  const seconds = Math.floor(modified);
  const header = {
    name: path.slice(1) + (kind === 'dir' ? '/' : ''),
    type: kind === 'dir' ? ('directory' as const) : ('file' as const),
    // The modes that BetaLocalFilesystemMemoryTool uses, because memories are private.
    mode: kind === 'dir' ? 0o700 : 0o600,
    mtime: new Date(Math.min(seconds, LAST_PLAIN_TIME) * 1000),
    ...(seconds > LAST_PLAIN_TIME ? { pax: { mtime: String(seconds) } } : {}),
  };
  return new Promise((resolve, reject) => {
    const done = (error?: Error | null) => (error ? reject(error) : resolve());
    const content = kind === 'dir' ? undefined : Buffer.from(entry.content);
    const sink = content ? archive.entry(header, content, done) : archive.entry(header, done);
    sink.on('error', reject);
  });
}

/** Copies a source entry with its name, and its modification time in milliseconds. */
async function copyEntry(
  archive: Pack,
  { name, kind, bytes, modified, content }: SourceEntry,
): Promise<void> {
  const header = {
    name: kind === 'dir' ? `${name}/` : name,
    type: kind === 'dir' ? ('directory' as const) : ('file' as const),
    mode: kind === 'dir' ? 0o700 : 0o600,
    size: bytes,
    mtime: new Date(0),
    pax: { mtime: String(modified.getTime() / 1000) },
  };
  let sink: ReturnType<Pack['entry']> | undefined;
  const added = new Promise<void>((resolve, reject) => {
    sink = archive.entry(header, (error) => (error ? reject(error) : resolve()));
    sink.on('error', reject);
  });
  added.catch(() => {});
  let copied = 0;
  for await (const chunk of content) {
    copied += chunk.length;
    if (copied > bytes) break;
    if (sink?.write(chunk) === false) await Promise.race([once(sink, 'drain'), added]);
  }
  if (copied !== bytes) throw new ServiceError('directory_unreadable', name, 'it changed while it was read');
  sink?.end(undefined);
  await added;
}

/**
 * Packs a source's entries into an archive.
 *
 * @throws errors from the source
 */
export async function* packTar(entries: AsyncIterable<SourceEntry>): AsyncGenerator<Uint8Array> {
  const output = new PassThrough();
  let failure: unknown;
  const written = writeTar(output, true, async (add) => {
    for await (const entry of entries) await add(entry);
  }).catch((error) => {
    failure = error;
    output.destroy();
  });
  try {
    yield* output;
  } catch (error) {
    await written;
    throw failure ?? error;
  } finally {
    output.destroy();
    await written;
  }
}

/** Adds fields that tar-stream's types lack: extended headers, the content offset, and unknown types. */
type ReadHeader = Omit<Header, 'type'> & {
  type: Header['type'] | null;
  pax: Record<string, string> | null;
  byteOffset: number;
};

// Latin-1 preserves a name's bytes. tar-stream's types lack this option.
const EXTRACT_OPTIONS = { highWaterMark: 64 * 1024, filenameEncoding: 'latin1' };

/**
 * Yields an archive's files and directories in their order. Read each content before the next entry. `archive` is
 * destroyed at the end, and when the caller stops early.
 *
 * @throws ServiceError for other entry types, and for a damaged or truncated archive
 */
export async function* readTar(archive: Readable): AsyncGenerator<SourceEntry> {
  const unpack = extract(EXTRACT_OPTIONS);
  const headerBytes = new HeaderBytes();
  let found = 0;
  let failure: unknown;
  const closed = new Promise<void>((resolve) => {
    // tar-stream 3 expects the text for an extended header with size 0 in the next entry's padding.
    unpack.on('entry', () => Object.assign(unpack, { _longHeader: false }));
    unpack.on('error', (error) => {
      failure = error;
    });
    unpack.on('close', () => resolve());
  });
  /** Returns the reason why the archive could not be read. Errors from dependent streams lack this reason. */
  const reason = async () => {
    await closed;
    return toArchiveError(failure, found > 0);
  };

  async function* entryContent(entry: AsyncIterable<unknown>): AsyncGenerator<Uint8Array> {
    try {
      for await (const chunk of entry) yield chunk as Uint8Array;
    } catch {
      throw await reason();
    }
  }

  const fed = pipeIntoParser(archive, unpack, headerBytes);
  try {
    for await (const entry of unpack) {
      found++;
      const header = entry.header as ReadHeader;
      const bytes = header.type === 'directory' ? 0 : header.size;
      const end = header.byteOffset + Math.ceil(bytes / BLOCK) * BLOCK;
      const headers = headerBytes.before(header.byteOffset, end);
      yield { ...describe(header, headers), content: entryContent(entry) };
      entry.resume();
    }
  } catch (error) {
    throw error instanceof ServiceError ? error : await reason();
  } finally {
    unpack.destroy();
    archive.destroy();
    await fed;
  }
  if (!isEnd(headerBytes.rest())) throw toArchiveError(undefined, found > 0);
}

/** Feeds the archive to tar-stream with backpressure. Errors surface where the entries are read. */
async function pipeIntoParser(archive: Readable, unpack: Extract, headerBytes: HeaderBytes): Promise<void> {
  let resume = () => {};
  unpack.on('drain', () => resume());
  unpack.on('close', () => resume());
  try {
    for await (const chunk of archive) {
      headerBytes.push(chunk);
      if (unpack.write(chunk) || unpack.destroyed) continue;
      await new Promise<void>((resolve) => {
        resume = resolve;
      });
    }
    unpack.end(undefined);
  } catch (error) {
    unpack.destroy(error instanceof Error ? error : new Error(String(error)));
  }
}

function describe(header: ReadHeader, headers: Buffer): Omit<SourceEntry, 'content'> {
  const name = entryName(header, headers);
  if (isZero(headers.subarray(0, BLOCK))) {
    throw cannotImport(name, 'entry_after_end');
  }
  if (!/^\d{1,16}$/.test(header.pax?.size ?? '0') || !haveSizes(headers)) {
    throw cannotImport(name, 'entry_size_invalid');
  }
  if (Object.keys(header.pax ?? {}).some((key) => key.startsWith('GNU.sparse.'))) {
    throw cannotImport(name, 'entry_sparse');
  }
  const seconds = Number(header.pax?.mtime);
  const modified = Number.isFinite(seconds) ? new Date(seconds * 1000) : header.mtime;
  // In old archives, only a trailing slash marks a directory.
  const isDirectory = header.type === 'directory' || (header.size === 0 && name.endsWith('/'));
  if (header.type === 'directory' || header.type === 'file' || header.type === 'contiguous-file') {
    return { name, kind: isDirectory ? 'dir' : 'file', bytes: header.size, modified };
  }
  throw cannotImport(name, UNSUPPORTED[header.type ?? 'unknown']);
}

/**
 * Whether the size fields in an entry's header and in its extended headers are numbers. tar-stream parses leniently,
 * for example `1e3` as 1.
 */
function haveSizes(headers: Buffer): boolean {
  for (let at = 0; at < headers.length; ) {
    const size = sizeIn(headers.subarray(at, at + BLOCK));
    if (size === undefined) return false;
    at += BLOCK * (1 + Math.ceil(size / BLOCK));
    // The last header belongs to the entry, whose content is not among the headers.
  }
  return true;
}

/** Parses a size: octal digits, or a binary number after the byte 0x80. */
function sizeIn(header: Buffer): number | undefined {
  const field = header.subarray(124, 136);
  if (field[0] === 0x80) return Number(field.readBigUInt64BE(4));
  const [, digits] = /^ {0,12}([0-7]{0,12})[ \0]{0,12}$/.exec(field.toString('latin1')) ?? [];
  return digits === undefined ? undefined : Number.parseInt(digits || '0', 8);
}

const UNSUPPORTED = {
  symlink: 'entry_symlink',
  link: 'entry_link',
  'character-device': 'entry_device',
  'block-device': 'entry_device',
  fifo: 'entry_fifo',
  unknown: 'entry_type_unknown',
} as const;

/**
 * Decodes an entry name. tar-stream has already decoded names in extended headers, with U+FFFD for invalid UTF-8.
 */
function entryName({ name, pax }: ReadHeader, headers: Buffer): string {
  if (pax?.path) {
    if (pax.path.includes('\uFFFD') && !headers.includes(`path=${pax.path}\n`))
      throw cannotImport(pax.path, 'entry_name_not_utf8');
    return pax.path;
  }
  const bytes = Buffer.from(name, 'latin1');
  if (!isUtf8(bytes)) throw cannotImport(name.replace(/[^ -~]/g, asByte), 'entry_name_not_utf8');
  return bytes.toString();
}

function isZero(bytes: Buffer): boolean {
  return bytes.every((byte) => byte === 0);
}

/** Whether the bytes end an archive. The format requires two zero blocks, but some programs write one. */
function isEnd(bytes: Buffer): boolean {
  return bytes.length >= BLOCK && isZero(bytes);
}

/** @param isArchive whether the archive was valid up to the failure */
function toArchiveError(failure: unknown, isArchive: boolean): ServiceError {
  if (failure instanceof ServiceError) return failure;
  const { code, message } = (failure ?? {}) as NodeJS.ErrnoException;
  if (code !== undefined) return new ServiceError('archive_unreadable', code);
  if (isArchive && (failure === undefined || message === 'Unexpected end of data')) {
    return new ServiceError('archive_truncated');
  }
  return new ServiceError('not_an_archive');
}
