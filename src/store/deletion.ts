import { randomUUID } from 'node:crypto';
import type { MemoryPath } from '../memory/path.ts';
import type { MemoryResult } from '../memory/result.ts';
import type { Deleted } from '../memory/store.ts';
import { readFileQuery } from './read-queries.ts';
import type { TenantCalls } from './tenant-calls.ts';
import { deleteFunction } from './write-functions.ts';

/** Deletes a file if it has the content that is expected. */
export function deleteFileIf(
  calls: TenantCalls,
  path: MemoryPath,
  isExpected: (content: string) => boolean,
  answer: MemoryResult,
): Promise<Deleted | { kind: 'changed' }> {
  return calls.inTransaction(async (query) => {
    const { tenant } = calls.context;
    const [file] = (await query(readFileQuery, { tenant, path })).rows;
    if (file === undefined) return { kind: 'missing' };
    if (!isExpected(file.content)) return { kind: 'changed' };
    const change = { path, change: randomUUID(), origin: calls.origin, ...calls.context.defaults };
    return calls.write(deleteFunction, change, answer, { transaction: query });
  });
}
