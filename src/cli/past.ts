import { OperatorError } from '../errors.ts';
import type { History } from '../history/history.ts';
import { type MemoryPath, ROOT } from '../memory/path.ts';
import type { ListedRow } from '../transfer/queries.ts';
import { amount, type Io } from './io.ts';

/** What was at a path and below it at a time. The time of an entry is that of the change that made it as it was. */
export async function* listedAt(
  history: History,
  tenant: string,
  path: MemoryPath,
  at: string,
): AsyncGenerator<ListedRow> {
  // Nothing records the root, which was always there.
  let found = path === ROOT;
  for await (const row of history.treeAt(tenant, path, at)) {
    found = true;
    yield {
      path: row.path,
      kind: row.versionId === null ? 'dir' : 'file',
      bytes: row.sizeBytes,
      modified: Date.parse(row.createdAt) / 1000,
    };
  }
  if (!found) throw nothingAt(tenant, path, at);
}

/** @throws OperatorError when there was no file */
export async function contentAt(
  history: History,
  tenant: string,
  path: MemoryPath,
  at: string,
): Promise<string> {
  const found = await history.at(tenant, path, at);
  if (found.kind === 'file') return found.content;
  if (found.kind === 'dir') {
    throw new OperatorError(
      `${path} was a directory. List it with: memory-service ls ${tenant} ${path} --at ${at}`,
    );
  }
  throw nothingAt(tenant, path, at);
}

/** Says how many files of that time are left out, because they have no path any more. */
export async function tellRedacted(history: History, tenant: string, at: string, io: Io): Promise<void> {
  const redacted = (await history.redactedAt(tenant, at)).length;
  if (redacted > 0) io.stderr.write(`Not shown: ${amount(redacted, 'file')} that was redacted since.\n`);
}

function nothingAt(tenant: string, path: MemoryPath, at: string): OperatorError {
  return new OperatorError(
    `There was nothing at ${path}. See what there was: memory-service ls ${tenant} --at ${at}`,
  );
}
