import { isUtf8 } from 'node:buffer';
import { OperatorError } from '../../errors.ts';
import { containsNul } from '../../memory/messages.ts';
import type { ImportSource } from '../import.ts';
import { cannotImport, type SourceEntry } from './entry.ts';
import { Spool } from './spool.ts';
import { ImportTree, type Placement } from './tree.ts';

/** What a policy makes of a text: what is to be stored, or that it must not be. `kinds` names what was found in it. */
export type Inspected = { ok: true; text: string; kinds: string[] } | { ok: false; kinds: string[] };

/** What holds for an import; a limit of 0 is none. */
export interface ImportRules extends Placement {
  tenant: string;
  maxFileBytes: number;
  maxFiles: number;
  maxBytes: number;
  inspect?: ((text: string) => Promise<Inspected>) | undefined;
  /** Told of each file whose text the policy has changed. */
  onChanged?: ((path: string, kinds: string[]) => void) | undefined;
  onProgress?: ((files: number, bytes: number) => void) | undefined;
}

export interface PreparedImport extends ImportSource {
  close(): Promise<void>;
}

/** With no limit of the tenant's own: more than this cannot be sent to the database in one piece. */
const LARGEST_FILE = 128 * 1024 * 1024;

/**
 * Reads a source to its end and checks all of it that can be checked without the database, which is not touched.
 *
 * @returns what to import; to be closed.
 * @throws OperatorError naming the first entry that cannot be imported, and why.
 */
export async function prepareImport(
  source: AsyncIterable<SourceEntry>,
  rules: ImportRules,
): Promise<PreparedImport> {
  const now = new Date();
  const tree = new ImportTree(rules, now);
  const spool = await Spool.open();
  try {
    let found = 0;
    for await (const entry of source) {
      found++;
      const modified = believable(entry.modified, now);
      const path = tree.add({ ...entry, modified });
      if (path === undefined || entry.kind === 'dir') continue;
      const content = await checkedContent(entry, rules);
      await spool.add(path, content, modified);
      checkTotals(spool, rules);
      rules.onProgress?.(spool.files, spool.bytes);
    }
    if (found === 0) throw new OperatorError('There is nothing to import: the archive is empty.');
    return {
      entries: tree.entries,
      files: spool.files,
      bytes: spool.bytes,
      batches: () => spool.batches(),
      close: () => spool.close(),
    };
  } catch (error) {
    await spool.close();
    throw error;
  }
}

/** A time that a file may have been modified at: in the future it would never expire. */
function believable(modified: Date, now: Date): Date {
  const time = modified.getTime();
  return time >= 0 && time <= now.getTime() ? modified : now;
}

async function checkedContent(entry: SourceEntry, rules: ImportRules): Promise<Buffer> {
  const { name } = entry;
  checkSize(name, entry.bytes, rules);
  const bytes = await read(entry, rules);
  if (!isUtf8(bytes)) {
    throw cannotImport(name, 'its content is not UTF-8 text, and a memory holds text only. Leave it out.');
  }
  if (rules.inspect === undefined) return bytes;
  const text = bytes.toString();
  const inspected = await rules.inspect(text);
  const kinds = inspected.kinds.join(', ');
  if (!inspected.ok) {
    throw cannotImport(name, `it contains what looks like a secret (${kinds}). Take that out of it.`);
  }
  if (inspected.text === text) return bytes;
  rules.onChanged?.(name, inspected.kinds);
  const changed = Buffer.from(inspected.text);
  checkSize(name, changed.length, rules);
  return changed;
}

/** The content, given up on as soon as it cannot be imported. */
async function read({ name, content }: SourceEntry, rules: ImportRules): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of content) {
    if (chunk.includes(0)) throw cannotImport(name, `its content ${containsNul}. Leave it out.`);
    bytes += chunk.length;
    // A file may have grown since its size was looked at.
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
    throw cannotImport(name, `it has ${bytes} bytes, and no file may have more than ${LARGEST_FILE}.`);
  }
}

/** Ends early what cannot fit even into an empty memory. Whether the rest fits, the database knows. */
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
