import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { SourceEntry } from '../archive/source/entry.ts';
import { OperatorError } from '../errors.ts';

/** Requests that may succeed later are sent so often. */
const ATTEMPTS = 5;
const CONFLICT = 409;

const memorySchema = z.object({
  type: z.literal('memory'),
  id: z.string(),
  path: z.string(),
  content: z.string().nullish(),
  content_sha256: z.string(),
  updated_at: z.string(),
});
export type RemoteMemory = z.output<typeof memorySchema>;

const pageSchema = z.object({
  data: z.array(z.discriminatedUnion('type', [memorySchema, z.object({ type: z.literal('memory_prefix') })])),
  next_page: z.string().nullish(),
});
const errorSchema = z.object({ error: z.object({ message: z.string() }) });

/** A memory store of a service with the Memory Stores API, such as Anthropic's. Throws OperatorError. */
export class RemoteStore {
  readonly #id: string;
  readonly #url: string;
  readonly #key: string;

  /** The key is that of `ANTHROPIC_API_KEY`, so that it is in no list of processes. */
  constructor(id: string, url: string) {
    const key = process.env.ANTHROPIC_API_KEY;
    if (key === undefined) throw new OperatorError('Set ANTHROPIC_API_KEY to a key for the store.');
    this.#id = id;
    this.#key = key;
    this.#url = `${url.replace(/\/+$/, '')}/v1/memory_stores/${encodeURIComponent(id)}/memories`;
  }

  /** All memories, read page by page. */
  async *memories(view: 'basic' | 'full'): AsyncGenerator<RemoteMemory> {
    let page: string | null | undefined;
    do {
      const limit = view === 'full' ? '20' : '100';
      const response = await this.#send(
        'GET',
        `?${new URLSearchParams({ view, limit, ...(page ? { page } : {}) })}`,
      );
      const read = pageSchema.safeParse(await response.json());
      if (!read.success) throw new OperatorError(`${this.#url} did not return a list of memories.`);
      for (const item of read.data.data) if (item.type === 'memory') yield item;
      page = read.data.next_page;
    } while (page);
  }

  /** The memories as files of `memories/`. */
  async *entries(): AsyncGenerator<SourceEntry> {
    for await (const { path, content, updated_at } of this.memories('full')) {
      const bytes = Buffer.from(content ?? '');
      yield {
        ...{ name: `memories${path}`, kind: 'file', bytes: bytes.length, modified: new Date(updated_at) },
        content: once(bytes),
      };
    }
  }

  /** Creates a memory, or replaces the content that it was found with. Returns false when it is another by now. */
  async write(path: string, content: string, found: RemoteMemory | undefined): Promise<boolean> {
    const response =
      found === undefined
        ? await this.#send('POST', '', { path, content })
        : await this.#send('POST', `/${found.id}`, {
            content,
            precondition: { type: 'content_sha256', content_sha256: found.content_sha256 },
          });
    await response.body?.cancel();
    return response.status !== CONFLICT;
  }

  async #send(method: 'GET' | 'POST', path: string, body?: object): Promise<Response> {
    const headers = {
      'x-api-key': this.#key,
      'anthropic-version': '2023-06-01',
      'anthropic-beta': 'agent-memory-2026-07-22',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    };
    const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
    for (let attempt = 1; ; attempt++) {
      const response = await fetch(this.#url + path, init).catch(() => undefined);
      if (response?.ok || response?.status === CONFLICT) return response;
      if (response === undefined) {
        if (attempt === ATTEMPTS) throw new OperatorError(`Cannot reach ${this.#url}.`);
      } else if (attempt === ATTEMPTS || (response.status < 500 && response.status !== 429)) {
        const problem = errorSchema.safeParse(await response.json().catch(() => undefined));
        const reason = problem.success ? problem.data.error.message : 'no reason given';
        throw new OperatorError(
          `The memory store ${this.#id} refused a request: ${response.status}, ${reason}`,
        );
      }
      await sleep(1000 * (Number(response?.headers.get('retry-after')) || 2 ** (attempt - 1)));
    }
  }
}

export const DEFAULT_STORE_URL = process.env.ANTHROPIC_BASE_URL ?? 'https://api.anthropic.com';

async function* once(content: Uint8Array): AsyncGenerator<Uint8Array> {
  yield content;
}
