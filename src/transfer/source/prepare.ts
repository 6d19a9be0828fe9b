import { isUtf8 } from 'node:buffer';
import { OperatorError } from '../../errors.ts';
import { containsNul } from '../../memory/messages.ts';
import type { MemoryPath } from '../../memory/path.ts';
import type { ImportSource } from '../import.ts';
import { cannotImport, type SourceEntry } from './entry.ts';
import { ArchivedHistory, type CheckedContent, isHistory } from './history.ts';
import { Spool } from './spool.ts';
import { ImportTree, type Placement } from './tree.ts';

/** The decision of a policy on a text: the text to store, or a refusal. `kinds` names the secrets that were found. */
export type Inspected = { ok: true; text: string; kinds: string[] } | { ok: false; kinds: string[] };

/** The rules of an import. A limit of 0 means no limit. */
export interface ImportRules extends Placement {
  tenant: string;
  maxFileBytes: number;
  maxFiles: number;
  maxBytes: number;
  inspect?: ((text: string) => Promise<Inspected>) | undefined;
  /** Called for each file whose text the policy has changed. */
  onChanged?: ((path: string, kinds: string[]) => void) | undefined;
  onProgress?: ((files: number, bytes: number) => void) | undefined;
}

export interface PreparedImport extends ImportSource {
  close(): Promise<void>;
}

/** The limit for tenants without one: more cannot be sent to the database in one piece. */
const LARGEST_FILE = 128 * 1024 * 1024;

/**
 * Reads a whole source and checks everything that does not need the database.
 *
 * @returns the entries to import. The caller closes it.
 * @throws OperatorError that names the first entry that cannot be imported and says why
 */
export async function prepareImport(
  source: AsyncIterable<SourceEntry>,
  rules: ImportRules,
): Promise<PreparedImport> {
  const now = new Date();
  const tree = new ImportTree(rules, now);
  const spool = await Spool.open<{ path: MemoryPath; modified: Date }>();
  /** Paths of files and ids of contents. */
  const masked = new Set<string>();
  let history: ArchivedHistory | undefined;
  const close = async () => {
    await spool.close();
    await history?.close();
  };
  try {
    let found = 0;
    for await (const entry of source) {
      found++;
      if (isHistory(entry, rules)) {
        history ??= await ArchivedHistory.open((each) => masked.has(each));
        const { bytes, isMasked } = await checkedContent(entry, rules);
        const id = await history.add(entry, bytes);
        if (isMasked && id !== undefined) masked.add(id);
        continue;
      }
      const modified = believable(entry.modified, now);
      const path = tree.add({ ...entry, modified });
      if (path === undefined || entry.kind === 'dir') continue;
      const { bytes, isMasked } = await checkedContent(entry, rules);
      if (isMasked) masked.add(path);
      await spool.add({ path, modified }, bytes);
      checkTotals(spool, rules);
      rules.onProgress?.(spool.files, spool.bytes);
    }
    if (found === 0) throw new OperatorError('There is nothing to import: the archive is empty.');
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

/** Limits a modification time to the present: a file from the future would never expire. */
function believable(modified: Date, now: Date): Date {
  const time = modified.getTime();
  return time >= 0 && time <= now.getTime() ? modified : now;
}

async function checkedContent(entry: SourceEntry, rules: ImportRules): Promise<CheckedContent> {
  const { name } = entry;
  checkSize(name, entry.bytes, rules);
  const bytes = await read(entry, rules);
  if (!isUtf8(bytes)) {
    throw cannotImport(name, 'its content is not UTF-8 text, and a memory holds text only. Leave it out.');
  }
  if (rules.inspect === undefined) return { bytes, isMasked: false };
  const text = bytes.toString();
  const inspected = await rules.inspect(text);
  const kinds = inspected.kinds.join(', ');
  if (!inspected.ok) {
    throw cannotImport(name, `it contains what looks like a secret (${kinds}). Take that out of it.`);
  }
  if (inspected.text === text) return { bytes, isMasked: false };
  rules.onChanged?.(name, inspected.kinds);
  const changed = Buffer.from(inspected.text);
  checkSize(name, changed.length, rules);
  return { bytes: changed, isMasked: true };
}

/** Reads the content, and stops as soon as it cannot be imported. */
async function read({ name, content }: SourceEntry, rules: ImportRules): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of content) {
    if (chunk.includes(0)) throw cannotImport(name, `its content ${containsNul}. Leave it out.`);
    bytes += chunk.length;
    // The file may have grown since its size was read.
    checkSize(name, bytes, rules);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, bytes);
}

function checkSize(name: string, bytes: number, { tenant, maxFileBytes }: ImportRules): void {
  if (maxFileBytes > 0 && bytes > maxFileBytes) {
    throw cannotImport(
      name,
      `it has ${bytes} bytes, and a file of ${tenant} may have ${maxFileBytes}. Leave it out, or raise the limit with: memory-service tenants set ${tenant} --max-file-bytes ${bytes}`,
    );
  }
  if (bytes > LARGEST_FILE) {
    throw cannotImport(name, `it has ${bytes} bytes, and a file can have at most ${LARGEST_FILE}.`);
  }
}

/** Rejects early what would not fit even into an empty memory. The database decides about the rest. */
function checkTotals(
  total: { files: number; bytes: number },
  { tenant, maxFiles, maxBytes }: ImportRules,
): void {
  if (maxFiles > 0 && total.files > maxFiles) {
    throw new OperatorError(
      `The import has more than the ${maxFiles} files that ${tenant} may have. Raise the limit with: memory-service tenants set ${tenant} --max-files <n>`,
    );
  }
  if (maxBytes > 0 && total.bytes > maxBytes) {
    throw new OperatorError(
      `The import has more than the ${maxBytes} bytes that ${tenant} may have. Raise the limit with: memory-service tenants set ${tenant} --max-bytes <n>`,
    );
  }
}
