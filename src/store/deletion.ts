import { randomUUID } from 'node:crypto';
import type { MemoryPath } from '../memory/path.ts';
import type { MemoryResult } from '../memory/result.ts';
import type { Deleted } from '../memory/store.ts';
import { lockTenantQuery } from '../tenants/queries.ts';
import { readFileQuery } from './read-queries.ts';
import type { TenantCalls } from './tenant-calls.ts';
import { callOn, deleteFunction } from './write-functions.ts';

/** Deletes a file if it has the content that is expected. With the tenant locked, nothing comes between the read and the deletion. */
export function deleteFileIf(
  calls: TenantCalls,
  path: MemoryPath,
  isExpected: (content: string) => boolean,
  answer: MemoryResult,
): Promise<Deleted | { kind: 'changed' }> {
  const { tenant, database, writes } = calls.context;
  return writes.exclusively(tenant, () =>
    database.transaction(async (query) => {
      await query(lockTenantQuery, { tenant });
      const [file] = (await query(readFileQuery, { tenant, path })).rows;
      if (file === undefined) return { kind: 'missing' };
      if (!isExpected(file.content)) return { kind: 'changed' };
      return calls.write(
        deleteFunction,
        { path, change: randomUUID(), origin: calls.origin, ...calls.context.defaults },
        answer,
        callOn(query),
      );
    }),
  );
}
