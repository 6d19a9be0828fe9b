import { randomUUID } from 'node:crypto';
import { freePort } from '../../support/faults/postgres-server.ts';
import { Replica } from '../../support/faults/replica.ts';
import type { Row } from '../fault-report.ts';

/** The maximum processor time that a request may compute without a pause. */
const LONGEST_MS = 100;
/** Number of times to measure a request that exceeds the maximum. */
const ATTEMPTS = 3;
const CALLS_A_REQUEST = 32;

/** A service whose process measures its computations. */
export class MeasuredService {
  readonly replica: Replica;
  readonly #adminUrl: string;
  readonly #blocksUrl: string;
  readonly #row: Row;
  readonly #blocks: { title: string; ms: number }[] = [];

  private constructor(replica: Replica, adminPort: number, blocksPort: number, row: Row) {
    this.replica = replica;
    this.#adminUrl = `http://127.0.0.1:${adminPort}/v1`;
    this.#blocksUrl = `http://127.0.0.1:${blocksPort}`;
    this.#row = row;
  }

  static async start(url: string, row: Row): Promise<MeasuredService> {
    const [adminPort, blocksPort] = [await freePort(), await freePort()];
    const probe = new URL('../../support/faults/cpu-blocks.mjs', import.meta.url);
    const replica = await Replica.create({
      DATABASE_URL: url,
      ADMIN_PORT: String(adminPort),
      CPU_BLOCKS_PORT: String(blocksPort),
      NODE_OPTIONS: `--import ${probe.href}`,
      DB_STATEMENT_TIMEOUT_MS: '60000',
      HANDLER_TIMEOUT_MS: '120000',
    });
    await replica.start();
    return new MeasuredService(replica, adminPort, blocksPort, row);
  }

  /**
   * Measures a request that reads, or that fails. It fails the case if each attempt exceeds the maximum. Other loads on
   * the machine can double a processor time, through shared caches and cores, and cannot shorten it.
   */
  async measureRead<T>(title: string, work: () => Promise<T>): Promise<T> {
    return this.#measure(title, work, ATTEMPTS);
  }

  /** Measures a request that can run only once. */
  async measureWrite<T>(title: string, work: () => Promise<T>): Promise<T> {
    return this.#measure(title, work, 1);
  }

  async #measure<T>(title: string, work: () => Promise<T>, attempts: number): Promise<T> {
    await this.#longest();
    const result = await work();
    const ms = await this.#longest();
    if (ms > LONGEST_MS && attempts > 1) return this.#measure(title, work, attempts - 1);

    this.#row.times++;
    this.#blocks.push({ title, ms });
    this.#row.expect(
      ms <= LONGEST_MS,
      `${title} held the event loop for ${Math.round(ms)} ms, over ${LONGEST_MS}`,
    );
    return result;
  }

  slowest(): string {
    const [first] = this.#blocks.toSorted((a, b) => b.ms - a.ms);
    return first === undefined ? '' : `at most ${Math.round(first.ms)} ms: ${first.title}`;
  }

  async #longest(): Promise<number> {
    return Number(await (await fetch(this.#blocksUrl)).text());
  }

  admin(
    path: string,
    body?: object | Buffer,
    method = body === undefined ? 'GET' : 'POST',
  ): Promise<Response> {
    const isArchive = Buffer.isBuffer(body);
    return ask(`${this.#adminUrl}${path}`, {
      method,
      headers: body ? { 'content-type': isArchive ? 'application/x-tar' : 'application/json' } : {},
      body: body === undefined ? null : isArchive ? new Uint8Array(body) : JSON.stringify(body),
    });
  }

  async adminJson<T>(path: string, body?: object | Buffer): Promise<T> {
    return (await (await this.admin(path, body)).json()) as T;
  }

  post(path: string, tenant: string, body: unknown): Promise<Response> {
    return ask(`${this.replica.url}${path}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'x-tenant-id': tenant,
      },
      body: JSON.stringify(body),
    });
  }

  get(path: string): Promise<Response> {
    return ask(`${this.replica.url}${path}`);
  }

  async execute(tenant: string, commands: readonly object[]): Promise<void> {
    for (let from = 0; from < commands.length; from += CALLS_A_REQUEST) {
      const calls = commands.slice(from, from + CALLS_A_REQUEST);
      const blocks = calls.map((input) => ({ type: 'tool_use', id: randomUUID(), name: 'memory', input }));
      const results = (await (await this.post('/execute', tenant, blocks)).json()) as {
        is_error?: boolean;
      }[];
      const failed = results.find(({ is_error }) => is_error);
      if (failed !== undefined) throw new Error(`cannot prepare ${tenant}: ${JSON.stringify(failed)}`);
    }
  }

  /** @returns the ID of a new draft, which is also the tenant for its changes */
  async createDraft(tenant: string): Promise<string> {
    const { id } = await this.adminJson<{ id: string }>(`/tenants/${tenant}/drafts`, { title: 'Measured' });
    return id;
  }

  async readReview(tenant: string, draft: string): Promise<string> {
    const { review } = await this.adminJson<{ review: string }>(`/tenants/${tenant}/drafts/${draft}/changes`);
    return review;
  }
}

/** Sends a request and reads the response to its end. */
async function ask(url: string, init: RequestInit = {}): Promise<Response> {
  const response = await fetch(url, init).catch((error) => {
    throw new Error(`${init.method ?? 'GET'} ${url}`, { cause: error });
  });
  const body = await response.arrayBuffer();
  if (!response.ok) {
    const text = Buffer.from(body).toString().slice(0, 500);
    throw new Error(`${init.method ?? 'GET'} ${url}: ${response.status} ${text}`);
  }
  return new Response(body, response);
}
