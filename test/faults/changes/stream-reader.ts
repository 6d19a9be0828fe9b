import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { readMessages } from '../../support/event-messages.ts';
import { type FeedEvent, Reader, type ReaderOptions } from './reader.ts';

interface StreamReaderOptions extends ReaderOptions {
  /** A slow reader pauses between events. A broken one closes its connection at random times. */
  kind: 'fast' | 'slow' | 'broken';
}

const MAX_RECONNECT_MS = 300;
const MAX_PAUSE_MS = 8000;
const MAX_CONNECTED_MS = 5000;

/** Follows the changes to a tenant or to all, each time at another replica, after the last event. */
export class StreamReader extends Reader {
  declare protected readonly options: StreamReaderOptions;
  #lastId: string | undefined;
  #response: IncomingMessage | undefined;

  constructor(options: StreamReaderOptions) {
    super(options);
  }

  override async stop(): Promise<void> {
    this.isStopped = true;
    this.#response?.destroy();
    await super.stop();
  }

  protected async read(): Promise<void> {
    const { random, cluster } = this.options;
    while (!this.isStopped) {
      const replica = random.below(cluster.count);
      const requested = performance.now();
      try {
        await this.#receive(await this.#open(replica), replica, requested);
      } catch {
        // The connection broke.
      }
      await delay(random.below(MAX_RECONNECT_MS));
    }
  }

  async #open(replica: number): Promise<IncomingMessage> {
    const { cluster, tenants = [], startsNow, kind } = this.options;
    const query = new URLSearchParams({
      ...(startsNow && { after: 'now' }),
      content: String(kind === 'slow'),
    });
    const base = this.isFleet ? cluster.adminUrl(replica) : `${cluster.url(replica)}/v1`;
    const request = get(`${base}/changes?${query}`, {
      agent: false,
      headers: {
        accept: 'text/event-stream',
        ...(tenants[0] !== undefined && { 'x-tenant-id': tenants[0] }),
        ...(this.#lastId !== undefined && { 'last-event-id': this.#lastId }),
      },
    });
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    request.on('error', () => {});
    this.#response = response;
    if (this.isStopped) response.destroy();
    return response.setEncoding('utf8');
  }

  async #receive(response: IncomingMessage, replica: number, requested: number): Promise<void> {
    const { kind, random, startsNow } = this.options;
    if (response.statusCode !== 200) {
      response.resume();
      return this.noteStatus(response.statusCode ?? 0);
    }
    const isBroken =
      kind === 'broken' && setTimeout(() => response.destroy(), random.below(MAX_CONNECTED_MS));
    try {
      for await (const { id, event, data } of readMessages<FeedEvent & { status: number }>(response)) {
        if (event === 'problem') return this.noteStatus(data?.status ?? 0);
        if (data !== undefined) this.record(data, replica);
        if (startsNow) this.start ??= { requested, received: performance.now() };
        this.#lastId = id ?? this.#lastId;
        if (kind === 'slow' && !this.isHurrying && random.below(30) === 0)
          await delay(random.below(MAX_PAUSE_MS));
      }
    } finally {
      if (isBroken) clearTimeout(isBroken);
    }
  }
}
