import { z } from 'zod';
import { noSuchTenant } from '../../core/admin/admin-errors.ts';
import { defineOperation } from '../../core/admin/admin-operation.ts';
import { count, next, readCursor, tenantParams, text, time, writeCursor } from '../../core/admin/fields.ts';
import { ServiceError } from '../../core/errors/errors.ts';
import { lastChangeQuery } from '../../core/files/watches.ts';
import { type MemoryPath, ROOT } from '../../core/memory/path.ts';
import { listMemoriesQuery } from '../memory-stores/stored-memories.ts';

/** Content bytes that a page hashes. The file that exceeds the limit is the last file on its page. */
const PAGE_BYTES = 2 * 1024 * 1024;

const fileSchema = z
  .object({
    path: z.string(),
    memory_id: z.guid().meta({ description: 'Identifies the file across edits and renames.' }),
    size_bytes: z.int(),
    content_sha256: z.string(),
  })
  .meta({ id: 'FileHash' });

export const listHashes = defineOperation({
  id: 'listHashes',
  method: 'GET',
  url: '/tenants/:tenant/hashes',
  summary: "List the files with their contents' SHA-256, a page at a time",
  description:
    'Sorted by path in byte order. A page ends early if its files are large. `last_change_at` is read before ' +
    'the files: if all pages and one page after them have the same value, the list shows one state.',
  tag: 'memory',
  params: tenantParams,
  query: z.strictObject({
    limit: count(1, 1000).default(1000),
    after: text(10_000).optional().meta({ description: 'The `next` from the previous page.' }),
  }),
  response: {
    description: 'A page.',
    schema: z
      .object({
        files: z.array(fileSchema),
        next,
        tenant_created_at: time,
        last_change_at: time
          .nullable()
          .meta({ description: "Time of the latest change to the tenant's files; null if there was none." }),
      })
      .meta({ id: 'HashPage' }),
  },
  errors: [noSuchTenant],
  async run({ database, params: { tenant }, query: { limit, after } }) {
    const from = readCursor(text(5000), after) ?? '';
    const [changed] = (await database.query(lastChangeQuery, { tenant })).rows;
    if (changed === undefined) throw new ServiceError('no_such_tenant', tenant);
    const page = {
      ...{ tenant, top: ROOT, shown: [], hidden: [], after: from },
      ...{ withContent: false, limit, bytes: PAGE_BYTES },
    };
    const { rows } = await database.query(listMemoriesQuery, page);
    const hasMore = (rows[0]?.candidates ?? 0) > rows.length;
    return {
      files: rows.map(({ path, memoryId, sizeBytes, sha256 }) => ({
        path: path as MemoryPath,
        memory_id: memoryId,
        size_bytes: sizeBytes,
        content_sha256: sha256,
      })),
      next: writeCursor(hasMore ? (rows.at(-1)?.path ?? null) : null),
      tenant_created_at: changed.createdAt,
      last_change_at: changed.at,
    };
  },
});
