import { hash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { type FileHandle, mkdir, open, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { OperatorError } from '../../../core/errors/errors.ts';
import type { MemoryPath } from '../../../core/memory/path.ts';
import type { BaseFile } from './plan.ts';

/** Directory with the state, in the synchronized directory. */
export const STATE_DIRECTORY = '.memory-service';

interface Header {
  version: 1;
  tenant: string;
  createdAt: string;
}

/** A change to the base: a file's entry, or null after the file was deleted. */
type Line = Header | { path: MemoryPath; file: BaseFile | null };

/**
 * The base: the files after the last synchronization, and their contents. Changes are appended to a journal after both
 * sides have the file, so that after an interruption the base is at most one file behind.
 */
export class SyncState {
  readonly #directory: string;
  readonly #files: Map<MemoryPath, BaseFile>;
  readonly #journal: FileHandle;
  /** Counter for distinct names during concurrent writes. */
  #writes = 0;

  private constructor(directory: string, files: Map<MemoryPath, BaseFile>, journal: FileHandle) {
    this.#directory = directory;
    this.#files = files;
    this.#journal = journal;
  }

  /**
   * Opens or creates a directory's state.
   *
   * @throws OperatorError if the state is from another tenant
   */
  static async open(root: string, tenant: string, createdAt: string): Promise<SyncState> {
    const directory = join(root, STATE_DIRECTORY);
    const file = join(directory, 'state.jsonl');
    const { header, files, lineCount } = parseJournal(existsSync(file) ? await readFile(file, 'utf8') : '');
    if (header !== undefined && header.tenant !== tenant)
      throw new OperatorError(
        `${root} is synchronized with the tenant ${header.tenant}. ${startOver(directory)}`,
      );
    if (header !== undefined && header.createdAt !== createdAt)
      throw new OperatorError(
        `${root} is synchronized with an earlier tenant ${tenant}. ${startOver(directory)}`,
      );
    await mkdir(join(directory, 'objects'), { recursive: true, mode: 0o700 });
    // Git ignores the directory, including this file.
    await writeFile(join(directory, '.gitignore'), '*\n');
    // The journal of earlier synchronizations has more lines than the base.
    if (header === undefined || lineCount > files.size + 1) {
      const lines: Line[] = [{ version: 1, tenant, createdAt }];
      for (const [path, file] of files) lines.push({ path, file });
      await writeDurably(`${file}.new`, formatLines(lines));
      await rename(`${file}.new`, file);
    }
    return new SyncState(directory, files, await open(file, 'a'));
  }

  get files(): ReadonlyMap<MemoryPath, BaseFile> {
    return this.#files;
  }

  /** Replaces a file's entry. Both entries are one write, so that an interruption keeps one of them. */
  async replace(before: BaseFile | undefined, after: BaseFile | null): Promise<void> {
    const lines: Line[] = [];
    // Another file may be at the path by now.
    const isMoved = before !== undefined && before.path !== after?.path;
    if (isMoved && this.#files.get(before.path) === before) lines.push({ path: before.path, file: null });
    if (after !== null) lines.push({ path: after.path, file: after });
    await this.#journal.appendFile(formatLines(lines));
    for (const line of lines) applyLine(this.#files, line);
  }

  /** Returns a stored content, or undefined. */
  async readContent(sha256: string): Promise<string | undefined> {
    try {
      const text = await readFile(this.#object(sha256), 'utf8');
      return hash('sha256', text, 'hex') === sha256 ? text : undefined;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw error;
    }
  }

  /** Stores a content, and returns its hash. */
  async storeContent(text: string): Promise<string> {
    const sha256 = hash('sha256', text, 'hex');
    const object = this.#object(sha256);
    // Not flushed to the disk: `readContent` compares the hash, and a missing base only prevents a merge.
    const unfinished = `${object}.${++this.#writes}`;
    await writeFile(unfinished, text);
    await rename(unfinished, object);
    return sha256;
  }

  /** Deletes the contents that no file in the base has. */
  async deleteUnusedContents(): Promise<void> {
    const used = new Set(Array.from(this.#files.values(), ({ sha256 }) => sha256));
    for (const name of await readdir(join(this.#directory, 'objects')))
      if (!used.has(name)) await rm(this.#object(name), { force: true });
  }

  async close(): Promise<void> {
    await this.#journal.sync();
    await this.#journal.close();
  }

  #object(sha256: string): string {
    return join(this.#directory, 'objects', sha256);
  }
}

function parseJournal(text: string) {
  const files = new Map<MemoryPath, BaseFile>();
  let header: Header | undefined;
  const texts = text.split('\n');
  for (const each of texts) {
    let line: Line;
    try {
      line = JSON.parse(each);
    } catch {
      // An interrupted write leaves an incomplete line at the end.
      continue;
    }
    if ('version' in line) header = line;
    else applyLine(files, line);
  }
  return { header, files, lineCount: texts.filter((each) => each !== '').length };
}

const formatLines = (lines: readonly Line[]) => lines.map((line) => `${JSON.stringify(line)}\n`).join('');

function applyLine(files: Map<MemoryPath, BaseFile>, line: Line): void {
  if ('version' in line) return;
  if (line.file === null) files.delete(line.path);
  else files.set(line.path, line.file);
}

const startOver = (directory: string) =>
  `To start over, delete ${directory}: both sides keep their files, and files that differ become conflicts.`;

/** Writes a file whose content survives a power failure. */
export async function writeDurably(file: string, text: string, mode = 0o600): Promise<void> {
  const handle = await open(file, 'w', mode);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
}
