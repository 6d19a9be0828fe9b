import { MAX_METADATA } from '../tenants/stores.ts';
import { type HostedClient, HostedStoreError } from './client.ts';
import { storeSchema } from './schemas.ts';
import { listStores } from './store.ts';

/** The metadata pair that names the tenant for which a push created a store, so that a repeated push finds it. */
const MARKER = 'memory_service_tenant';
const ATTEMPTS = 3;

export interface NewStore {
  name: string;
  description: string;
  metadata: Record<string, string>;
  /** What no other tenant has. */
  tenant: string;
}

/** The store that an earlier push created, or undefined. */
export async function findCreatedStore(
  client: HostedClient,
  { name, tenant }: Pick<NewStore, 'name' | 'tenant'>,
): Promise<string | undefined> {
  const found: string[] = [];
  for await (const store of listStores(client)) {
    if (store.name === name && store.metadata[MARKER] === tenant) found.push(store.id);
  }
  if (found.length < 2) return found[0];
  throw new HostedStoreError(
    `Several stores were created for this: ${found.join(', ')}. Name one with --to-store, and delete the others.`,
  );
}

/** Creates a store. When nobody knows whether it was created, looks for it before trying again. */
export async function createStore(client: HostedClient, store: NewStore): Promise<string> {
  const { name, description, tenant } = store;
  const metadata = { ...store.metadata, [MARKER]: tenant };
  if (Object.keys(metadata).length > MAX_METADATA) {
    throw new HostedStoreError(
      `The tenant has ${MAX_METADATA} pairs of metadata, and the new store needs one more. Remove one, or create the store yourself.`,
    );
  }
  for (let attempt = 1; ; attempt++) {
    try {
      const body = { name, description, metadata };
      const request = { method: 'POST', path: '/v1/memory_stores', body, isRepeatable: false } as const;
      return (await client.send(storeSchema, request)).id;
    } catch (error) {
      const isUnknown =
        error instanceof HostedStoreError && (error.status === undefined || error.status >= 500);
      if (!isUnknown || attempt === ATTEMPTS) throw error;
      const created = await findCreatedStore(client, store);
      if (created !== undefined) return created;
    }
  }
}
