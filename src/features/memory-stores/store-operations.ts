import { encodeCursor } from '../../core/lib/cursor.ts';
import { rejectMounted } from '../../core/tenants/mounts.ts';
import { newStoreId } from '../../core/tenants/store-ids.ts';
import { mergeDetails, type StoreFilter, type StoreRow } from '../../core/tenants/stores.ts';
import { Tenants } from '../../core/tenants/tenants.ts';
import { ALL_STORES } from './authenticate.ts';
import { invalid, notFound } from './store-errors.ts';
import { defineOperation } from './store-operation.ts';
import { positions, readCursor } from './store-pages.ts';
import { deletedSchema, done, pageSchema, storeRecord, storeSchema } from './store-responses.ts';
import { storeCreate, storeList, storeParams, storeUpdate } from './store-schemas.ts';

const archived = invalid('The memory store is archived: nothing in it can be created or changed.');

const forStore = { params: storeParams, response: done(storeSchema) };

export const createMemoryStore = defineOperation({
  id: 'createMemoryStore',
  method: 'POST',
  url: '',
  access: 'manage',
  summary: 'Create a store',
  description: 'Requires a key that manages stores, as do all operations that change or delete stores.',
  tag: 'memory stores',
  body: storeCreate,
  response: done(storeSchema),
  run: async ({ stores, origin, body: { name, description, metadata } }) =>
    storeRecord(
      await stores.create(
        newStoreId(),
        { name, description: description ?? '', metadata: metadata ?? {} },
        origin.actor,
      ),
    ),
});

export const listMemoryStores = defineOperation({
  id: 'listMemoryStores',
  method: 'GET',
  url: '',
  access: 'read',
  summary: 'List stores, the newest first',
  description: 'A credential for one tenant lists only its own store.',
  tag: 'memory stores',
  query: storeList,
  response: done(pageSchema(storeSchema)),
  run: async ({ stores, store, query }) => {
    const { limit, page, include_archived: includeArchived } = query;
    const filter = {
      since: query['created_at[gte]'] ?? null,
      until: query['created_at[lte]'] ?? null,
      includeArchived,
    };
    const [, time = '', id = ''] = readCursor(positions.stores, page) ?? [];
    if (store !== ALL_STORES) {
      const own = await stores.find(store);
      return {
        data: own !== undefined && isListed(own, filter) ? [storeRecord(own)] : [],
        next_page: null,
      };
    }
    const found = await stores.list(filter, page === undefined ? null : { time, id }, limit);
    const next = found.next && encodeCursor(['stores', found.next.time, found.next.id]);
    return { data: found.rows.map(storeRecord), next_page: next };
  },
});

export const retrieveMemoryStore = defineOperation({
  id: 'retrieveMemoryStore',
  method: 'GET',
  url: '/:memory_store_id',
  access: 'read',
  summary: 'Retrieve a store',
  tag: 'memory stores',
  ...forStore,
  run: async ({ stores, store }) => {
    const row = await stores.find(store);
    if (row === undefined) throw notFound('memory store');
    return storeRecord(row);
  },
});

export const updateMemoryStore = defineOperation({
  id: 'updateMemoryStore',
  method: 'POST',
  url: '/:memory_store_id',
  access: 'manage',
  summary: "Change a store's name, description and metadata",
  tag: 'memory stores',
  ...forStore,
  body: storeUpdate,
  errors: [archived],
  run: async ({ stores, store, body }) =>
    storeRecord(await stores.update(store, (before) => mergeDetails(before, body))),
});

export const archiveMemoryStore = defineOperation({
  id: 'archiveMemoryStore',
  method: 'POST',
  url: '/:memory_store_id/archive',
  access: 'manage',
  summary: 'Archive a store permanently',
  description:
    'Its memories can no longer be created or changed, including by the memory tool and the admin API. They can still be read, deleted and redacted.',
  tag: 'memory stores',
  ...forStore,
  run: async ({ stores, store }) => storeRecord(await stores.archive(store)),
});

export const deleteMemoryStore = defineOperation({
  id: 'deleteMemoryStore',
  method: 'DELETE',
  url: '/:memory_store_id',
  access: 'manage',
  summary: 'Delete a store with its memories, their history, and its keys',
  tag: 'memory stores',
  ...forStore,
  response: done(deletedSchema('memory_store_deleted')),
  isForSuspended: true,
  run: async ({ database, store, origin }) => {
    await rejectMounted(database, store, null);
    if ((await new Tenants(database).delete(store, origin.actor)) === undefined)
      throw notFound('memory store');
    return { id: store, type: 'memory_store_deleted' as const };
  },
});

/**
 * Whether a list with this filter contains the store. All times have the same format, so comparing them as texts is
 * correct.
 */
function isListed(
  { createdAt, archivedAt }: StoreRow,
  { since, until, includeArchived }: StoreFilter,
): boolean {
  if (archivedAt !== null && !includeArchived) return false;
  return (since === null || createdAt >= since) && (until === null || createdAt <= until);
}
