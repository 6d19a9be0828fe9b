import { MAX_METADATA } from '../../../core/tenants/metadata.ts';
import { type HostedClient, type HostedMemory, HostedStoreError, storeSchema } from './hosted-client.ts';
import { type HostedStore, listStores } from './hosted-store.ts';

/** A file to write to a store as a memory. */
export interface PushedFile {
  /** The memory's path in the store. */
  path: string;
  content: string;
  sha256: string;
}

/** The action for a file. `changed`: the content in the store is not from this file's history. */
export type PushAction = 'unchanged' | 'create' | 'update' | 'changed';

/**
 * Selects the push action for a file.
 *
 * @param hadContent whether any version of the file, or of an earlier file at its path, had a content
 */
export async function planPush(
  { sha256 }: PushedFile,
  there: HostedMemory | undefined,
  hadContent: (sha256: string) => Promise<boolean>,
): Promise<PushAction> {
  if (there === undefined) return 'create';
  if (there.content_sha256 === sha256) return 'unchanged';
  return (await hadContent(there.content_sha256)) ? 'update' : 'changed';
}

/** Reads a store's memories without their contents, keyed by path. */
export async function memoriesByPath(store: HostedStore): Promise<Map<string, HostedMemory>> {
  const there = new Map<string, HostedMemory>();
  for await (const memory of store.memories('basic')) there.set(memory.path, memory);
  return there;
}

/**
 * Metadata key in a store that a push created. The value is the pushed tenant's ID. A repeated push finds the
 * store by this value.
 */
const MARKER = 'memory_service_tenant';
const ATTEMPTS = 3;

export interface NewStore {
  name: string;
  description: string;
  metadata: Record<string, string>;
  /** The tenant's unique ID. */
  tenant: string;
}

/** Finds the store that an earlier push created. */
export async function findCreatedStore(
  client: HostedClient,
  { name, tenant }: Pick<NewStore, 'name' | 'tenant'>,
): Promise<string | undefined> {
  const found: string[] = [];
  for await (const store of listStores(client)) {
    if (store.name === name && store.metadata?.[MARKER] === tenant) found.push(store.id);
  }
  if (found.length < 2) return found[0];
  throw new HostedStoreError(
    `Several stores were created for this: ${found.join(', ')}. Name one with --to-store, and delete the others.`,
  );
}

/** Creates a store. If a request's outcome is unknown, searches for the store before the next attempt. */
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
