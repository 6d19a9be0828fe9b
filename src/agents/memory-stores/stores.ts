import type { FastifyInstance } from 'fastify';
import type { Services } from '../../files/services.ts';
import { refuseMounted } from '../../tenants/mounts.ts';
import { newStoreId } from '../../tenants/store-ids.ts';
import { mergeDetails, type StoreFilter, type StoreRow, Stores } from '../../tenants/stores.ts';
import { Tenants } from '../../tenants/tenants.ts';
import { ALL_STORES } from './authenticate.ts';
import { invalid, notFound } from './errors.ts';
import { defineOperation } from './operation.ts';
import { positions, readCursor, writeCursor } from './pages.ts';
import { deletedSchema, pageOf, storeRecord, storeSchema } from './responses.ts';
import { nothing, storeCreate, storeList, storeParams, storeUpdate } from './schemas.ts';

const archived = invalid('The memory store is archived: nothing in it can be created or changed.');

/** Stores: each is a tenant. */
export async function storeRoutes(app: FastifyInstance, services: Services): Promise<void> {
  const stores = new Stores(services.database);
  const tenants = new Tenants(services.database);
  const forStore = { params: storeParams, query: nothing, body: null, response: storeSchema } as const;

  defineOperation(app, services, {
    method: 'POST',
    url: '',
    id: 'createMemoryStore',
    access: 'manage',
    summary: 'Create a store',
    description: 'Requires a key that manages stores, as do all operations that change or delete stores.',
    params: nothing,
    query: nothing,
    body: storeCreate,
    response: storeSchema,
    run: async ({ body: { name, description, metadata } }) =>
      storeRecord(
        await stores.create(newStoreId(), {
          name,
          description: description ?? '',
          metadata: metadata ?? {},
        }),
      ),
  });

  defineOperation(app, services, {
    method: 'GET',
    url: '',
    id: 'listMemoryStores',
    access: 'read',
    summary: 'List stores, the newest first',
    description: 'A credential for one tenant lists only its own store.',
    params: nothing,
    query: storeList,
    body: null,
    response: pageOf(storeSchema),
    run: async ({ store, query }) => {
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
      const next = found.next && writeCursor(['stores', found.next.time, found.next.id]);
      return { data: found.stores.map(storeRecord), next_page: next };
    },
  });

  defineOperation(app, services, {
    method: 'GET',
    url: '/:memory_store_id',
    id: 'retrieveMemoryStore',
    access: 'read',
    summary: 'Retrieve a store',
    ...forStore,
    run: async ({ store }) => {
      const row = await stores.find(store);
      if (row === undefined) throw notFound('memory store');
      return storeRecord(row);
    },
  });

  defineOperation(app, services, {
    method: 'POST',
    url: '/:memory_store_id',
    id: 'updateMemoryStore',
    access: 'manage',
    summary: "Change a store's name, description and metadata",
    ...forStore,
    body: storeUpdate,
    errors: [archived],
    run: async ({ store, body }) =>
      storeRecord(await stores.update(store, (before) => mergeDetails(before, body))),
  });

  defineOperation(app, services, {
    method: 'POST',
    url: '/:memory_store_id/archive',
    id: 'archiveMemoryStore',
    access: 'manage',
    summary: 'Archive a store permanently',
    description:
      'Its memories can no longer be created or changed, including by the memory tool and the admin API. They can still be read, deleted and redacted.',
    ...forStore,
    run: async ({ store }) => storeRecord(await stores.archive(store)),
  });

  defineOperation(app, services, {
    method: 'DELETE',
    url: '/:memory_store_id',
    id: 'deleteMemoryStore',
    access: 'manage',
    summary: 'Delete a store with its memories, their history, and its keys',
    ...forStore,
    response: deletedSchema('memory_store_deleted'),
    isForSuspended: true,
    run: async ({ store }) => {
      await refuseMounted(services.database, store, null);
      if ((await tenants.delete(store)) === undefined) throw notFound('memory store');
      return { id: store, type: 'memory_store_deleted' };
    },
  });
}

/** Whether a list with this filter has the store. Times are all written in one way, so they compare as texts. */
function isListed(
  { createdAt, archivedAt }: StoreRow,
  { since, until, includeArchived }: StoreFilter,
): boolean {
  if (archivedAt !== null && !includeArchived) return false;
  return (since === null || createdAt >= since) && (until === null || createdAt <= until);
}
