import { setTimeout as delay } from 'node:timers/promises';
import { requestJson } from './cluster.ts';
import { type FeedEvent, Reader, type ReaderOptions } from './reader.ts';

interface Page {
  events: FeedEvent[];
  cursor: string;
  has_more: boolean;
}

interface PageReaderOptions extends ReaderOptions {
  /** Whether to read all tenants' changes from the admin API. */
  isFleet: boolean;
  /** Returns the next page's limit. */
  limit: () => number;
  /** Returns the pause after a page that ends the list, in milliseconds. */
  pause: () => number;
  /** Whether the reader sometimes stops within a page, and continues after its last event. */
  isInterrupted?: boolean;
}

/** Reads pages from random replicas. */
export class PageReader extends Reader {
  declare protected readonly options: PageReaderOptions;

  constructor(options: PageReaderOptions) {
    super(options);
  }

  protected async read(): Promise<void> {
    const { random, pause, isInterrupted, startsNow } = this.options;
    let after = startsNow ? 'now' : undefined;
    while (!this.isStopped) {
      const replica = random.below(this.options.cluster.count);
      const requested = performance.now();
      const page = await this.#request(replica, after);
      if (page === undefined) {
        await delay(50);
        continue;
      }
      if (after === 'now') this.start = { requested, received: performance.now() };
      const isCut = isInterrupted && page.events.length > 0 && random.below(3) === 0;
      const kept = isCut ? page.events.slice(0, random.below(page.events.length)) : page.events;
      for (const event of kept) this.record(event, replica);
      after = isCut ? (kept.at(-1)?.cursor ?? after) : page.cursor;
      if (!page.has_more) await delay(pause());
    }
  }

  async #request(replica: number, after: string | undefined): Promise<Page | undefined> {
    const { cluster, tenants = [], isFleet, limit, types = [] } = this.options;
    const query = new URLSearchParams({ limit: String(limit()), ...(after !== undefined && { after }) });
    for (const type of types) query.append('type', type);
    if (isFleet) for (const tenant of tenants) query.append('tenant', tenant);
    const base = isFleet ? cluster.adminUrl(replica) : `${cluster.url(replica)}/v1`;
    const headers: Record<string, string> = isFleet ? {} : { 'x-tenant-id': tenants[0] ?? '' };
    const response = await requestJson(`${base}/changes?${query}`, { headers });
    if (response?.status === 200) return response.body as Page;
    if (response !== undefined) this.noteStatus(response.status);
    return undefined;
  }
}
