import { randomUUID } from 'node:crypto';
import type { QueryExecutor, QueryResult } from '../database/query.ts';
import type { MemoryPath } from '../memory/path.ts';
import type { MemoryResult } from '../memory/result.ts';
import type { Deleted, Edit, Edited, OverQuota } from '../memory/store.ts';
import type { Change } from '../memory/text.ts';
import type { FileVersion } from './pending-files.ts';
import { type FileRow, readFileQuery } from './read-queries.ts';
import type { TenantDatabase } from './tenant-database.ts';
import { deleteFunction, writeFileFunction } from './write-functions.ts';

/** How often an edit is tried before it locks out the tenant's other writers, after which it cannot lose a race. */
const OPTIMISTIC_ATTEMPTS = 3;

type ChangeContent<R> = (content: string) => Edit<R> | Promise<Edit<R>>;

/** Reads a file, changes its content, and writes it back so that no other edit is lost. */
export async function editFile<R>(
  db: TenantDatabase,
  path: MemoryPath,
  change: ChangeContent<R>,
): Promise<Edited<R>> {
  db.writeAttempted = true;
  for (let attempt = 0; attempt < OPTIMISTIC_ATTEMPTS; attempt++) {
    const edited = await editOptimistically(db, path, change);
    if (edited !== undefined) return edited;
  }
  return editExclusively(db, path, change);
}

/** Undefined when another write of the file came first. */
async function editOptimistically<R>(
  db: TenantDatabase,
  path: MemoryPath,
  change: ChangeContent<R>,
): Promise<Edited<R> | undefined> {
  const { tenant, pending } = db.context;
  const attempt = await pending.inTurn(tenant, path, async () => {
    const base: FileVersion | undefined = pending.newest(tenant, path) ?? (await readFile(db, path));
    if (base === undefined) return undefined;
    const edit = await change(base.content);
    if ('refusal' in edit) return { base, refusal: edit.refusal };
    // A write that leaves the content as it is makes no version.
    const version = edit.content === base.content ? base.version : randomUUID();
    const write = writeFile(db, path, base, { ...edit, version });
    const isWritten = write.then(({ kind }) => kind === 'written');
    pending.add(tenant, path, { content: edit.content, version }, isWritten);
    return { base, edit, write };
  });
  if (attempt === undefined) return { kind: 'missing' };
  const { base } = attempt;
  if (!('refusal' in attempt)) return editedBy(await attempt.write, base, attempt.edit);
  // The content that was refused may never have been written.
  return (await (base.isWritten ?? true)) ? { kind: 'refused', refusal: attempt.refusal } : undefined;
}

/** With the tenant locked, nothing comes between the read and the write. */
function editExclusively<R>(
  db: TenantDatabase,
  path: MemoryPath,
  change: ChangeContent<R>,
): Promise<Edited<R>> {
  return db.inTransaction(async (query) => {
    const { tenant } = db.context;
    const base = fileOf(db, await query(readFileQuery, { tenant, path }));
    if (base === undefined) return { kind: 'missing' } as const;
    const edit = await change(base.content);
    if ('refusal' in edit) return { kind: 'refused', refusal: edit.refusal } as const;
    const write = await writeFile(db, path, base, { ...edit, version: randomUUID() }, query);
    const edited = editedBy(write, base, edit);
    if (edited === undefined) throw new Error('A file changed while its tenant was locked.');
    return edited;
  });
}

/** Deletes a file if it has the content that is expected. */
export function deleteFileIf(
  db: TenantDatabase,
  path: MemoryPath,
  isExpected: (content: string) => boolean,
  result: MemoryResult,
): Promise<Deleted | { kind: 'changed' }> {
  return db.inTransaction(async (query) => {
    const { tenant } = db.context;
    const file = fileOf(db, await query(readFileQuery, { tenant, path }));
    if (file === undefined) return { kind: 'missing' };
    if (!isExpected(file.content)) return { kind: 'changed' };
    const change = { path, change: randomUUID(), origin: db.origin, ...db.context.defaults };
    return db.write(deleteFunction, change, result, { transaction: query });
  });
}

async function readFile(db: TenantDatabase, path: MemoryPath): Promise<FileVersion | undefined> {
  return fileOf(db, await db.read(readFileQuery, { tenant: db.context.tenant, path }));
}

/** @throws ServiceError when it is not a file of the tenant that the call is for */
function fileOf(db: TenantDatabase, found: QueryResult<FileRow>): FileVersion | undefined {
  db.checkTenant(found);
  const { content = null, version = null } = found.rows[0] ?? {};
  return content === null || version === null ? undefined : { content, version };
}

/** Writes the part of the content that differs. */
function writeFile(
  db: TenantDatabase,
  path: MemoryPath,
  base: FileVersion,
  { version, result, ...change }: Change & { version: string; result: MemoryResult },
  transaction?: QueryExecutor,
) {
  const { start, removed, text } = difference(base.content, change);
  const params = {
    path,
    readVersion: base.version,
    version,
    text,
    origin: db.origin,
    ...db.context.defaults,
    start: Buffer.byteLength(base.content.slice(0, start)),
    removed: Buffer.byteLength(base.content.slice(start, start + removed)),
  };
  return db.write(writeFileFunction, params, result, { size: change.content.length, transaction });
}

/** The shortest range of `before` that a change replaces, and its replacement; in UTF-16 units, without splitting a character. */
function difference(before: string, { content, start: first, end: afterLast }: Change) {
  let [start, end] = [first, afterLast];
  let endBefore = before.length - (content.length - end);
  while (start < end && start < endBefore && before[start] === content[start]) start++;
  while (end > start && endBefore > start && before[endBefore - 1] === content[end - 1]) {
    end--;
    endBefore--;
  }
  if (start > first && isHighSurrogate(content, start - 1)) start--;
  if (end < afterLast && isHighSurrogate(content, end - 1)) {
    end++;
    endBefore++;
  }
  return { start, removed: endBefore - start, text: content.slice(start, end) };
}

function isHighSurrogate(text: string, index: number): boolean {
  const unit = text.charCodeAt(index);
  return unit >= 0xd800 && unit <= 0xdbff;
}

/** Undefined when another write of the file came first. */
function editedBy(
  write: { kind: 'written' | 'missing' | 'conflict' } | OverQuota,
  { content: before }: { content: string },
  { content, result }: Change & { result: MemoryResult },
): Edited<never> | undefined {
  switch (write.kind) {
    case 'written':
      return { kind: 'edited', result, before, content };
    case 'conflict':
      return undefined;
    case 'missing':
      return { kind: 'missing' };
    case 'over_quota':
      return write;
  }
}
