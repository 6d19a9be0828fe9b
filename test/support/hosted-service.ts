import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

const KEY = 'sk-test';

export interface FakeVersion {
  id: string;
  memory_id: string;
  operation: string;
  path: string | null;
  content: string | null;
  created_at: string;
  created_by?: object | null;
  redacted_at?: string;
  redacted_by?: object;
}

export interface FakeMemory {
  id: string;
  memory_version_id: string;
  path: string;
  content: string;
  created_at: string;
  updated_at: string;
}

/**
 * Failure for a request: the connection is dropped, the response is cut, the response has an error status, or the
 * response is lost after the work.
 */
export type Fault =
  | 'drop'
  | 'cut'
  | 'lose'
  | { status: number; headers?: Record<string, string> }
  | undefined;

interface FakeStore {
  memories: FakeMemory[];
  /** Versions, the newest first. */
  versions: FakeVersion[];
  record: { id: string; name: string; metadata?: Record<string, string>; created_at: string };
}

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

/**
 * A small service with the part of the Memory Stores API that import and push use. The format of its IDs differs from
 * this service.
 */
export class FakeHostedService {
  readonly stores = new Map<string, FakeStore>();
  /** Each request's method and path, in order. */
  readonly requests: string[] = [];
  /** Returns the failure for a request, given its number from 1. */
  fault: (request: string, number: number) => Fault = () => undefined;
  pageSize = 2;
  readonly #server = createServer((request, response) => void this.#handle(request, response));

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  add(id: string, store: Partial<FakeStore>): FakeStore {
    const record = { id, name: id, metadata: {}, created_at: '2026-11-01T00:00:00Z' };
    const whole = { memories: [], versions: [], record, ...store };
    this.stores.set(id, whole);
    return whole;
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const url = new URL(request.url ?? '', 'http://localhost');
    const name = `${request.method} ${url.pathname}`;
    this.requests.push(name);
    const fault = this.fault(name, this.requests.length);
    if (fault === 'drop') return void request.socket.destroy();
    if (typeof fault === 'object') {
      response.writeHead(fault.status, fault.headers);
      return void response.end('{"type":"error","error":{"type":"api_error","message":"Out of order."}}');
    }
    const body = chunks.length > 0 ? JSON.parse(Buffer.concat(chunks).toString()) : undefined;
    const { status, answer } =
      request.headers['x-api-key'] === KEY
        ? this.#answer(name.split('/').slice(3), url.searchParams, body, request.method ?? '')
        : { status: 401, answer: { error: { message: 'No.' } } };
    if (fault === 'lose') return void request.socket.destroy();
    const text = JSON.stringify(answer);
    response.writeHead(status, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(text),
    });
    if (fault !== 'cut') return void response.end(text);
    response.write(text.slice(0, text.length / 2), () => request.socket.destroy());
  }

  #answer(
    [id = '', list, item]: string[],
    query: URLSearchParams,
    body: Record<string, string> & {
      metadata: Record<string, string>;
      precondition?: { content_sha256: string };
    },
    method: string,
  ): { status: number; answer: object } {
    if (id === '' && method === 'POST') {
      const made = this.add(`memstore_fake${this.stores.size + 1}`, {});
      Object.assign(made.record, { name: body.name, metadata: body.metadata });
      return { status: 200, answer: made.record };
    }
    if (id === '')
      return this.#page(
        [...this.stores.values()].map(({ record }) => record),
        query,
      );
    const store = this.stores.get(id);
    if (store === undefined)
      return { status: 404, answer: { error: { message: 'There is no such store.' } } };
    if (list === undefined) return { status: 200, answer: store.record };
    const isFull = query.get('view') === 'full';
    if (list === 'memory_versions') {
      return this.#page(
        store.versions.map((each) => ({
          type: 'memory_version',
          created_by: null,
          redacted_at: null,
          redacted_by: null,
          ...each,
          content: isFull ? each.content : null,
          content_sha256: each.content === null ? null : sha256(each.content),
        })),
        query,
      );
    }
    const toResponse = (memory: FakeMemory, withContent: boolean) => ({
      ...memory,
      type: 'memory',
      content: withContent ? memory.content : null,
      content_sha256: sha256(memory.content),
    });
    if (method === 'GET' && item === undefined)
      return this.#page(
        store.memories.map((each) => toResponse(each, isFull)),
        query,
      );
    const found = store.memories.find(
      (each) => each.id === item || (item === undefined && each.path === body.path),
    );
    if (method === 'GET')
      return found ? { status: 200, answer: toResponse(found, isFull) } : { status: 404, answer: {} };
    if (item === undefined) {
      if (found !== undefined) {
        const error = { message: 'In the way.', conflicting_memory_id: found.id };
        return { status: 409, answer: { error } };
      }
      const time = '2026-11-20T00:00:00Z';
      const memory = {
        id: `mem_fake${store.memories.length + 1}`,
        memory_version_id: 'memver_fake',
        path: body.path ?? '',
        content: body.content ?? '',
        created_at: time,
        updated_at: time,
      };
      store.memories.push(memory);
      return { status: 200, answer: toResponse(memory, false) };
    }
    if (found === undefined)
      return { status: 404, answer: { error: { message: 'There is no such memory.' } } };
    if (found.content !== body.content && sha256(found.content) !== body.precondition?.content_sha256)
      return { status: 409, answer: { error: { message: 'Another content.' } } };
    found.content = body.content ?? '';
    return { status: 200, answer: toResponse(found, false) };
  }

  #page(items: object[], query: URLSearchParams): { status: number; answer: object } {
    const from = Number(query.get('page') ?? 0);
    const to = from + this.pageSize;
    return {
      status: 200,
      answer: { data: items.slice(from, to), next_page: to < items.length ? String(to) : null },
    };
  }
}

export const FAKE_KEY = KEY;
