import type { z } from 'zod';
import { escapeInvisible } from '../entry.ts';
import {
  errorSchema,
  failureReason,
  fieldProblem,
  fullMemorySchema,
  type HostedClient,
  type HostedMemory,
  HostedStoreError,
  type HostedStoreRecord,
  type HostedVersion,
  memorySchema,
  pageSchema,
  storeSchema,
  versionSchema,
} from './hosted-client.ts';

const CONFLICT = 409;
/** Statuses for rejected memories, such as a content that is too large for the store. */
const REJECTIONS: readonly (number | undefined)[] = [400, 413];
const PAGE = { basic: '100', full: '20' };

/**
 * `changed`: the content has changed in the meantime, or another memory blocks the path. `rejected`: the store rejects
 * this memory.
 */
export type WriteOutcome = { kind: 'written' | 'changed' } | { kind: 'rejected'; reason: string };

/** A memory store in a service with the Memory Stores API. Methods throw HostedStoreError. */
export class HostedStore {
  readonly id: string;
  readonly #client: HostedClient;
  readonly #path: string;

  constructor(client: HostedClient, id: string) {
    this.id = id;
    this.#client = client;
    this.#path = `/v1/memory_stores/${encodeURIComponent(id)}`;
  }

  retrieve(): Promise<HostedStoreRecord> {
    return this.#client.send(storeSchema, { method: 'GET', path: this.#path });
  }

  /** Yields all memories, read page by page. */
  memories(view: 'basic' | 'full'): AsyncGenerator<HostedMemory> {
    const query = { view, limit: PAGE[view] };
    const schema = view === 'full' ? fullMemorySchema : memorySchema;
    return listItems(this.#client, `${this.#path}/memories`, { type: 'memory', schema }, query);
  }

  /** Yields all versions with their contents, newest first, read page by page. */
  versions(): AsyncGenerator<HostedVersion> {
    const query = { view: 'full', limit: PAGE.full };
    const item = { type: 'memory_version', schema: versionSchema };
    return listItems(this.#client, `${this.#path}/memory_versions`, item, query);
  }

  /**
   * Creates a memory, or replaces its content if the content is still the one that was found. If a response is lost,
   * the client repeats the request, and the write detects that the first request succeeded.
   */
  async write(
    { path, content, sha256 }: { path: string; content: string; sha256: string },
    found: HostedMemory | undefined,
  ): Promise<WriteOutcome> {
    const memories = `${this.#path}/memories`;
    const request =
      found === undefined
        ? { path: memories, body: { path, content } }
        : {
            path: `${memories}/${encodeURIComponent(found.id)}`,
            body: {
              content,
              precondition: { type: 'content_sha256', content_sha256: found.content_sha256 },
            },
          };
    try {
      await this.#client.send(memorySchema, { method: 'POST', ...request });
      return { kind: 'written' };
    } catch (error) {
      if (!(error instanceof HostedStoreError)) throw error;
      if (REJECTIONS.includes(error.status)) return { kind: 'rejected', reason: failureReason(error.body) };
      // The memory may have been deleted after it was listed.
      if (error.status === 404 && found !== undefined) return { kind: 'changed' };
      if (error.status !== CONFLICT) throw error;
      const id = found?.id ?? errorSchema.safeParse(error.body).data?.error.conflicting_memory_id;
      const there = id === undefined || id === '' ? undefined : await this.#find(id);
      const isDone = there !== undefined && there.path === path && there.content_sha256 === sha256;
      return { kind: isDone ? 'written' : 'changed' };
    }
  }

  async #find(id: string): Promise<HostedMemory | undefined> {
    const path = `${this.#path}/memories/${encodeURIComponent(id)}?view=basic`;
    try {
      return await this.#client.send(memorySchema, { method: 'GET', path });
    } catch (error) {
      if (error instanceof HostedStoreError && error.status === 404) return undefined;
      throw error;
    }
  }
}

/** Lists all stores that are not archived. */
export function listStores(client: HostedClient): AsyncGenerator<HostedStoreRecord> {
  const item = { type: 'memory_store', schema: storeSchema };
  return listItems(client, '/v1/memory_stores', item, { limit: PAGE.basic });
}

interface ListedItem<Item> {
  /** Value of the field `type`. */
  type: string;
  schema: z.ZodType<Item>;
}

/**
 * Yields a list's items, without items of other types.
 *
 * @throws HostedStoreError that names the invalid field and the item ID
 */
async function* listItems<Item>(
  client: HostedClient,
  path: string,
  { type, schema }: ListedItem<Item>,
  query: Record<string, string>,
): AsyncGenerator<Item> {
  let page: string | null | undefined;
  do {
    const search = new URLSearchParams({ ...query, ...(page ? { page } : {}) });
    const response = await client.send(pageSchema, { method: 'GET', path: `${path}?${search}` });
    for (const item of response.data) {
      const { type: given = type, ...fields } = Object(item) as Record<string, unknown>;
      if (typeof given === 'string' && given !== type) continue;
      const read = schema.safeParse(fields);
      if (read.success) yield read.data;
      else throw new HostedStoreError(unreadableText(type, fields, read.error));
    }
    page = response.next_page;
  } while (page);
}

function unreadableText(type: string, { id, memory_id }: Record<string, unknown>, error: z.ZodError): string {
  const name = typeof id === 'string' ? ` ${escapeInvisible(id)}` : '';
  const memory = typeof memory_id === 'string' ? ` of ${escapeInvisible(memory_id)}` : '';
  return `The store sent a ${type.replace('_', ' ')} that cannot be read:${name}${memory} (${fieldProblem(error)}).`;
}
