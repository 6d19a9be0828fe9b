import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { Webhook } from 'standardwebhooks';
import { eventKey, type FeedEvent, Reader, type ReaderOptions } from './reader.ts';

interface EndpointOptions extends ReaderOptions {
  /** A slow endpoint responds late. A broken one fails for a part of the time. */
  kind: 'fast' | 'slow' | 'broken';
}

interface Message {
  type: string;
  timestamp: string;
  data: FeedEvent;
}

const SLOW_MS = 300;
/** A broken endpoint fails for `BROKEN_MS` in each period, each time in another way. */
const PERIOD_MS = 20_000;
const BROKEN_MS = 8_000;
const FAULTS = ['rejects', 'hangs up', 'accepts and hangs up'] as const;

/** A webhook's server. Remembers each message that it accepts, when it arrives first. */
export class Endpoint extends Reader {
  /** Number of accepted messages that arrived again. */
  repeated = 0;
  /** Number of messages that a fault did not accept. */
  failed = 0;
  /** Number of messages whose sender ended before the response. */
  aborted = 0;
  declare protected readonly options: EndpointOptions;
  readonly #server = createServer((request, response) => void this.#respond(request, response));
  /** Number and event of each message by its ID. Numbers count a tenant's messages. */
  readonly #accepted = new Map<string, { number: number; key: string }>();
  /** Number of the latest accepted message, by tenant. */
  readonly #latest = new Map<string, number>();
  readonly #brokenSince: number;
  #webhook: Webhook | undefined;
  #isBusy = false;

  constructor(options: EndpointOptions) {
    super(options);
    this.#brokenSince = performance.now() - options.random.below(PERIOD_MS * FAULTS.length);
  }

  /** Starts the server, and creates its webhook. */
  async open(): Promise<void> {
    const { cluster, random, tenants = [], types = null, kind } = this.options;
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`;
    const requested = performance.now();
    const webhook = { url, tenant: tenants[0] ?? null, types, content: kind !== 'fast' };
    const { status, body } = await cluster.insist(random, '/webhooks', webhook);
    if (status !== 201) throw new Error(`a webhook was rejected: ${JSON.stringify(body)}`);
    this.#webhook = new Webhook((body as { secret: string }).secret);
    this.start = { requested, received: performance.now() };
  }

  override async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await super.stop();
  }

  /** Messages arrive by themselves. */
  protected async read(): Promise<void> {}

  async #respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (this.#isBusy) this.problems.push(`${this.name} got two messages at the same time`);
    this.#isBusy = true;
    response.once('close', () => {
      this.#isBusy = false;
    });
    const message = await this.#verify(request).catch(() => undefined);
    if (this.options.kind === 'slow' && !this.isHurrying) await delay(SLOW_MS);
    if (request.socket.destroyed) this.aborted++;
    else if (message === undefined) response.writeHead(400).end();
    else this.#acceptOrFail(String(request.headers['webhook-id']), message, response);
  }

  /** @throws Error if the body is incomplete, or its signature is wrong */
  async #verify(request: IncomingMessage): Promise<Message> {
    const body = await buffer(request);
    try {
      return this.#webhook?.verify(body, request.headers as Record<string, string>) as Message;
    } catch (error) {
      this.problems.push(`${this.name} got a message with a wrong signature`);
      throw error;
    }
  }

  #acceptOrFail(id: string, message: Message, response: ServerResponse): void {
    const fault = this.#fault();
    if (fault !== undefined) this.failed++;
    if (fault === undefined || fault === 'accepts and hangs up') this.#accept(id, message);
    if (fault === undefined) response.writeHead(204).end();
    else if (fault === 'rejects') response.writeHead(500).end();
    else response.destroy();
  }

  #fault(): (typeof FAULTS)[number] | undefined {
    const time = performance.now() - this.#brokenSince;
    const isBroken = this.options.kind === 'broken' && !this.isHurrying && time % PERIOD_MS < BROKEN_MS;
    return isBroken ? FAULTS[Math.floor(time / PERIOD_MS) % FAULTS.length] : undefined;
  }

  /** Repeated messages begin at any accepted message, and continue in order. */
  #accept(id: string, { type, timestamp, data }: Message): void {
    const key = eventKey(data);
    const latest = this.#latest.get(data.tenant) ?? 0;
    const known = this.#accepted.get(id);
    const { number } = known ?? { number: (this.seen.get(data.tenant)?.length ?? 0) + 1 };
    this.#latest.set(data.tenant, number);
    const isInOrder = number <= latest + 1;
    const isSame = known === undefined || known.key === key;
    const isConsistent = type === messageType(data) && timestamp === data.at;
    if (!(isInOrder && isSame && isConsistent))
      this.problems.push(
        `${this.name}: ${id} ${type}, ${timestamp}, is no message for ${key} after ${latest}`,
      );
    if (known !== undefined) {
      this.repeated++;
      return;
    }
    this.#accepted.set(id, { number, key });
    this.record(data, undefined);
  }
}

function messageType({ type, version }: FeedEvent): string {
  return version ? `file.${type}` : type.replace('_', '.');
}
