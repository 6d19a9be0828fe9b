import { z } from 'zod';
import { fileJsonBytes } from '../../core/agents/result-bounds.ts';
import { encodeCursor } from '../../core/lib/cursor.ts';
import { describeSecrets } from '../../core/lib/secret-kinds.ts';
import { amount, quotaAmount } from '../../core/lib/units.ts';
import { applyWritePolicy } from '../../core/memory/commands/edit.ts';
import { rejectSecretPath } from '../../core/memory/commands/memory-command.ts';
import type { OverQuota, PolicyRejection } from '../../core/memory/memory-store.ts';
import { type MemoryPath, ROOT } from '../../core/memory/path.ts';
import type { Redaction } from '../../core/memory/secrets/secrets.ts';
import { toDirectoryPath, toFilePath, toPublicPath, toUuid } from '../../core/tenants/store-ids.ts';
import { invalid, notFound, pathConflict, preconditionFailed, StoreError } from './store-errors.ts';
import { defineOperation } from './store-operation.ts';
import { FULL_PAGE_BYTES, fittingItems, fullPageBytes, positions, readCursor } from './store-pages.ts';
import {
  deletedSchema,
  done,
  memoryRecord,
  memorySchema,
  pageSchema,
  prefixSchema,
} from './store-responses.ts';
import {
  MAX_FULL_PAGE,
  memoryCreate,
  memoryDelete,
  memoryList,
  memoryParams,
  memoryUpdate,
  memoryView,
  storeParams,
} from './store-schemas.ts';

/**
 * Applies the store's setting for secrets to a write, and returns the content with masked secrets.
 *
 * @throws StoreError if the setting rejects the content, or if the path contains a secret
 */
export async function applySecretPolicy(
  { path, content }: { path: MemoryPath | null; content: string | null },
  redaction: Redaction | undefined,
): Promise<string | null> {
  if (redaction === undefined) return content;
  const context = { redaction, limits: { maxFileBytes: 0, maxViewChars: 0 } };
  const rejection = path === null ? undefined : await rejectSecretPath(path, context);
  if (rejection !== undefined) throw policyError(rejection);
  if (content === null) return null;
  const change = { content, start: 0, end: content.length };
  const edit = await applyWritePolicy(path ?? ROOT, undefined, change, () => '', context);
  if ('rejection' in edit) throw policyError(edit.rejection);
  return edit.content;
}

function policyError(rejection: PolicyRejection): StoreError {
  if (rejection.kind === 'file_too_large') return tooLarge(rejection.maxBytes);
  const field = rejection.kind === 'secret_in_path' ? 'path' : 'content';
  return invalid(`${field}: it contains ${describeSecrets(rejection.kinds)}.`);
}

export const tooLarge = (maxFileBytes: number): StoreError =>
  invalid(`content: it is larger than ${amount(maxFileBytes, 'byte')}, the limit of this memory store.`);

export const overQuota = ({
  of,
  used,
  limit,
  needed,
  hidesUsed = false,
}: Omit<OverQuota, 'kind'>): StoreError => {
  const full = hidesUsed
    ? `${quotaAmount(limit, of)} are allowed`
    : `it has ${used} of ${quotaAmount(limit, of)}`;
  return invalid(`The memory store is full: ${full}, and this needs ${needed} more.`);
};

/**
 * Maximum content bytes on a page, including contents that are only hashed. The file that exceeds the limit is the last
 * file on its page.
 */
const PAGE_BYTES = { full: FULL_PAGE_BYTES, basic: 64 * 1024 * 1024 };

const conflict = pathConflict({ path: toFilePath('/notes.md') ?? ROOT, memoryId: '' });
export const forbidden = new StoreError(
  403,
  'permission_error',
  'The credential has no right to change this path.',
);
const notStored = [
  forbidden,
  tooLarge(102_400),
  overQuota({ of: 'files', used: 2000, limit: 2000, needed: 1 }),
  invalid('The memory store is archived: nothing in it can be created or changed.'),
];

export const createMemory = defineOperation({
  id: 'createMemory',
  method: 'POST',
  url: '/:memory_store_id/memories',
  access: 'write',
  summary: 'Create a memory',
  description: 'No other memory may be at, above or below the path.',
  tag: 'memory stores',
  params: storeParams,
  query: memoryView,
  body: memoryCreate,
  response: done(memorySchema),
  contentBytes: fileJsonBytes,
  errors: [...notStored, conflict],
  run: async ({ store, memories, redaction, query: { view = 'basic' }, body, policy }) => {
    const path = toFilePath(body.path) ?? ROOT;
    const content = (await applySecretPolicy({ path, content: body.content }, await redaction())) ?? '';
    const { maxFileBytes } = policy.limits;
    if (maxFileBytes > 0 && Buffer.byteLength(content) > maxFileBytes) throw tooLarge(maxFileBytes);
    const created = await memories.create({ path, content, withContent: view === 'full' });
    if (created.kind !== 'created') throw rejectionError(created, maxFileBytes);
    return memoryRecord(store, created);
  },
});

export const listMemories = defineOperation({
  id: 'listMemories',
  method: 'GET',
  url: '/:memory_store_id/memories',
  access: 'read',
  summary: 'List memories, by their paths',
  description: `With \`view=full\`, a page has at most ${MAX_FULL_PAGE} items, and fewer where they are large.`,
  tag: 'memory stores',
  params: storeParams,
  query: memoryList,
  response: done(pageSchema(z.union([memorySchema, prefixSchema]))),
  contentBytes: fullPageBytes,
  run: async ({ stores, store, memories, query }) => {
    const { path_prefix: prefix = '/', depth, view = 'basic', limit, page } = query;
    const [, after = ''] = readCursor(positions.memories, page) ?? [];
    const { rows, hasMore } = await memories.page(depth === '1' ? 1 : 0, {
      top: toDirectoryPath(prefix) ?? ROOT,
      after,
      withContent: view === 'full',
      bytes: PAGE_BYTES[view],
      limit: view === 'full' ? Math.min(limit, MAX_FULL_PAGE) : limit,
    });
    if (rows.length === 0 && (await stores.find(store)) === undefined) throw notFound('memory store');
    const data = fittingItems(
      rows.map((row) =>
        row.kind === 'file'
          ? memoryRecord(store, row)
          : { type: 'memory_prefix' as const, path: `${toPublicPath(row.path)}/` },
      ),
    );
    const last = hasMore || data.length < rows.length ? rows[data.length - 1] : undefined;
    return { data, next_page: last === undefined ? null : encodeCursor(['memories', last.path]) };
  },
});

export const retrieveMemory = defineOperation({
  id: 'retrieveMemory',
  method: 'GET',
  url: '/:memory_store_id/memories/:memory_id',
  access: 'read',
  summary: 'Retrieve a memory',
  tag: 'memory stores',
  params: memoryParams,
  query: memoryView,
  response: done(memorySchema),
  errors: [notFound('memory')],
  run: async ({ store, memories, params, query: { view = 'full' } }) => {
    const found = await memories.find(memoryUuid(params), { withContent: view === 'full' });
    if (found === undefined) throw notFound('memory');
    return memoryRecord(store, found);
  },
});

export const updateMemory = defineOperation({
  id: 'updateMemory',
  method: 'POST',
  url: '/:memory_store_id/memories/:memory_id',
  access: 'write',
  summary: "Change a memory's content, its path, or both",
  description:
    'A memory that already matches the request gets no new version, even if the precondition fails.',
  tag: 'memory stores',
  params: memoryParams,
  query: memoryView,
  body: memoryUpdate,
  response: done(memorySchema),
  contentBytes: fileJsonBytes,
  errors: [notFound('memory'), ...notStored, preconditionFailed(), conflict],
  run: async ({ store, memories, redaction, params, query: { view = 'basic' }, body, policy }) => {
    const path = body.path == null ? null : (toFilePath(body.path) ?? ROOT);
    const content = await applySecretPolicy({ path, content: body.content ?? null }, await redaction());
    const { maxFileBytes } = policy.limits;
    const updated = await memories.update(memoryUuid(params), {
      path,
      content,
      maxFileBytes,
      withContent: view === 'full',
      expected: body.precondition?.content_sha256 ?? null,
    });
    if (updated.kind !== 'updated' && updated.kind !== 'unchanged')
      throw rejectionError(updated, maxFileBytes);
    return memoryRecord(store, updated);
  },
});

export const deleteMemory = defineOperation({
  id: 'deleteMemory',
  method: 'DELETE',
  url: '/:memory_store_id/memories/:memory_id',
  access: 'write',
  summary: 'Delete a memory',
  description: 'Its versions are kept.',
  tag: 'memory stores',
  params: memoryParams,
  query: memoryDelete,
  response: done(deletedSchema('memory_deleted')),
  errors: [notFound('memory'), forbidden, preconditionFailed()],
  run: async ({ memories, params, query }) => {
    const deleted = await memories.delete(memoryUuid(params), query.expected_content_sha256 ?? null);
    if (deleted.kind !== 'deleted') throw rejectionError(deleted, 0);
    return { id: params.memory_id, type: 'memory_deleted' as const };
  },
});

/** @throws StoreError 404 if the text cannot be a memory ID */
function memoryUuid({ memory_id: id }: { memory_id: string }): string {
  const uuid = toUuid('mem', id);
  if (uuid === undefined) throw notFound('memory');
  return uuid;
}

type Rejected =
  | { kind: 'missing' | 'forbidden' | 'precondition_failed' | 'too_large' }
  | ({ kind: 'conflict' } & Parameters<typeof pathConflict>[0])
  | ({ kind: 'over_quota' } & Parameters<typeof overQuota>[0]);

function rejectionError(outcome: Rejected, maxFileBytes: number): StoreError {
  switch (outcome.kind) {
    case 'missing':
      return notFound('memory');
    case 'forbidden':
      return forbidden;
    case 'precondition_failed':
      return preconditionFailed();
    case 'too_large':
      return tooLarge(maxFileBytes);
    case 'conflict':
      return pathConflict(outcome);
    case 'over_quota':
      return overQuota(outcome);
  }
}
