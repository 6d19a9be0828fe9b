import { isUtf8 } from 'node:buffer';
import { Readable } from 'node:stream';
import { ServiceError } from '../../core/errors/errors.ts';
import { timeSliced } from '../../core/lib/time-slice.ts';
import type { MemoryPath } from '../../core/memory/path.ts';
import { ArchivedHistory, isHistory } from './archived-history.ts';
import { cannotImport, escapeInvisible, type SourceEntry } from './entry.ts';
import type { HistorySource } from './history-import.ts';
import type { ImportSource } from './import-transaction.ts';
import { ImportTree, type Placement } from './import-tree.ts';
import { closeAll, Spool } from './spool.ts';

/** Result from applying a policy on secrets to a text: the kinds of detected secrets, and the masked text. */
export interface Inspected {
  isRejected: boolean;
  kinds: string[];
  masked: string;
}

/** The rules for an import. The limit 0 means no limit. */
export interface ImportRules extends Placement {
  tenant: string;
  maxFileBytes: number;
  maxFiles: number;
  maxBytes: number;
  inspect?: ((text: string) => Promise<Inspected>) | undefined;
  /** Called for each file whose text the policy has masked. */
  onChanged?: ((path: string, kinds: string[]) => void) | undefined;
  /** Called for each binary macOS file that was left out. */
  onLeftOut?: ((name: string) => void) | undefined;
  onProgress?: ((files: number, bytes: number) => void) | undefined;
}

export interface PreparedImport extends ImportSource {
  close(): Promise<void>;
}

/** Limit for tenants without this setting, because the database accepts no larger value in one statement. */
const LARGEST_FILE = 128 * 1024 * 1024;
const LARGEST_PAGE = 256 * 1024 * 1024;

/**
 * Reads a whole source, and makes all checks that do not need the database.
 *
 * @returns the entries to import; the caller must close them
 * @throws ServiceError naming the first entry that cannot be imported, with the reason
 */
export async function prepareImport(
  source: AsyncIterable<SourceEntry>,
  rules: ImportRules,
): Promise<PreparedImport> {
  const now = new Date();
  const tree = new ImportTree(rules, now);
  const spool = await Spool.open<{ path: MemoryPath; modified: Date }>();
  /** Paths of masked files. */
  const masked = new Set<string>();
  let history: ArchivedHistory | undefined;
  const close = async () => {
    await closeAll(history === undefined ? [spool] : [spool, history]);
  };
  try {
    let found = 0;
    for await (const entry of timeSliced(source)) {
      found++;
      if (isHistory(entry, rules)) {
        history ??= await ArchivedHistory.open(
          {
            isMasked: (path) => masked.has(path),
            inspect: versionInspector(rules),
            findSecret: (paths) => secretIn(paths, rules),
          },
          rules.maxFileBytes,
        );
        await history.add(entry, await read(entry, (size) => checkPageSize(entry.name, size)));
        continue;
      }
      if (await isDesktopFile(entry)) {
        rules.onLeftOut?.(escapeInvisible(entry.name));
        continue;
      }
      const modified = clampToPresent(entry.modified, now);
      const path = tree.add({ ...entry, modified });
      if (path === undefined) continue;
      await checkPath(path, rules);
      if (entry.kind === 'dir') continue;
      const { bytes, isMasked } = await checkedContent(entry, rules);
      if (isMasked) masked.add(path);
      await spool.add({ path, modified }, bytes);
      checkTotals(spool, rules);
      rules.onProgress?.(spool.files, spool.bytes);
    }
    if (found === 0) throw new ServiceError('archive_empty');
    history?.check(spool.files);
    return {
      history,
      entries: tree.entries,
      files: spool.files,
      bytes: spool.bytes,
      batches: () => spool.batches(),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Names of the files in which macOS stores other files' attributes and a directory's appearance. */
const DESKTOP_FILE = /(^|\/)(\._[^/]*|\.DS_Store)$/;

/**
 * Whether an entry is a binary file from macOS, which begins with a NUL. A text with such a name is imported. Reads the
 * whole binary file, because the next entry follows it.
 */
async function isDesktopFile(entry: SourceEntry): Promise<boolean> {
  if (entry.kind === 'dir' || !DESKTOP_FILE.test(entry.name)) return false;
  const chunks = entry.content[Symbol.asyncIterator]();
  const { done, value: first } = await chunks.next();
  if (done) {
    entry.content = Readable.from([]);
    return false;
  }
  const isBinary = first[0] === 0;
  if (isBinary) while (!(await chunks.next()).done);
  else entry.content = Readable.from(prependItem(first, chunks));
  return isBinary;
}

async function* prependItem<T>(first: T, rest: AsyncIterator<T>): AsyncGenerator<T> {
  yield first;
  for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
}

/** Limits a modification time to the present, because a file from the future would never expire. */
function clampToPresent(modified: Date, now: Date): Date {
  const time = modified.getTime();
  return time >= 0 && time <= now.getTime() ? modified : now;
}

/** A checked content. `isMasked`: whether the policy on secrets has changed the content. */
interface CheckedContent {
  bytes: Buffer;
  isMasked: boolean;
}

async function checkedContent(entry: SourceEntry, rules: ImportRules): Promise<CheckedContent> {
  const { name } = entry;
  const bytes = await read(entry, (size) => checkSize(name, size, rules));
  if (rules.inspect === undefined) return { bytes, isMasked: false };
  const text = bytes.toString();
  const kept = await inspectText(name, text, rules, rules.inspect);
  if (kept === text) return { bytes, isMasked: false };
  const changed = Buffer.from(kept);
  checkSize(name, changed.length, rules);
  return { bytes: changed, isMasked: true };
}

/** Creates a function that applies the policy to a version's content. */
function versionInspector(rules: ImportRules): HistorySource['inspect'] {
  const { inspect } = rules;
  return inspect && ((version, content) => inspectText(`version ${version}`, content, rules, inspect));
}

/** Applies the policy, and returns the text to store. */
async function inspectText(
  name: string,
  text: string,
  { onChanged }: ImportRules,
  inspect: (text: string) => Promise<Inspected>,
): Promise<string> {
  const { isRejected, kinds, masked } = await inspect(text);
  if (isRejected) throw cannotImport(name, 'entry_has_secret', kinds);
  if (masked !== text) onChanged?.(name, kinds);
  return masked;
}

/**
 * Rejects a path that contains a secret, even if secrets are masked, because masking would change the path. Requests
 * have the same rule.
 */
async function checkPath(path: MemoryPath, rules: ImportRules): Promise<void> {
  const found = await secretIn([path], rules);
  if (found !== undefined) throw cannotImport(found.masked, 'entry_path_has_secret', found.kinds);
}

/** Finds the first path that contains a secret, and returns the masked path. */
async function secretIn(
  paths: readonly string[],
  { inspect }: ImportRules,
): Promise<{ masked: string; kinds: string[] } | undefined> {
  if (inspect === undefined) return undefined;
  // Scans all paths together first, because secrets in paths are rare.
  if (paths.length > 1 && (await inspect(paths.join('\n'))).kinds.length === 0) return undefined;
  for (const path of paths) {
    const { kinds, masked } = await inspect(path);
    if (kinds.length > 0) return { masked, kinds };
  }
  return undefined;
}

/**
 * Reads a content, and stops at the first error.
 *
 * @param check called with the byte count read so far
 */
async function read(
  { name, bytes: announced, content }: SourceEntry,
  check: (bytes: number) => void,
): Promise<Buffer> {
  check(announced);
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of content) {
    if (chunk.includes(0)) throw cannotImport(name, 'entry_has_nul');
    bytes += chunk.length;
    // The file may have grown since its size was read.
    check(bytes);
    chunks.push(chunk);
  }
  const whole = Buffer.concat(chunks, bytes);
  if (isUtf8(whole)) return whole;
  throw cannotImport(name, 'entry_not_utf8');
}

/**
 * Limits a history page's size. A page may contain a version with the largest content, which JSON makes up to six times
 * longer.
 */
function checkPageSize(name: string, bytes: number): void {
  if (bytes > LARGEST_PAGE) throw cannotImport(name, 'entry_larger_than_any', bytes, LARGEST_PAGE);
}

function checkSize(name: string, bytes: number, { tenant, maxFileBytes }: ImportRules): void {
  if (maxFileBytes > 0 && bytes > maxFileBytes) {
    throw cannotImport(name, 'entry_too_large', bytes, tenant, maxFileBytes);
  }
  if (bytes > LARGEST_FILE) throw cannotImport(name, 'entry_larger_than_any', bytes, LARGEST_FILE);
}

/**
 * Rejects an import early if it exceeds an empty memory's limits. The database checks the limits together with existing
 * files.
 */
function checkTotals(
  total: { files: number; bytes: number },
  { tenant, maxFiles, maxBytes }: ImportRules,
): void {
  if (maxFiles > 0 && total.files > maxFiles) {
    throw new ServiceError('import_too_large', tenant, 'files', maxFiles);
  }
  if (maxBytes > 0 && total.bytes > maxBytes) {
    throw new ServiceError('import_too_large', tenant, 'bytes', maxBytes);
  }
}
