import { createRandom } from '../../support/random.ts';
import { becomesTrue } from '../environment.ts';
import type { Row } from '../fault-report.ts';
import type { Cluster } from './cluster.ts';
import { Endpoint } from './endpoint.ts';
import type { RecordedHistory } from './history.ts';
import { PageReader } from './page-reader.ts';
import type { Reader, ReaderOptions } from './reader.ts';
import { StreamReader } from './stream-reader.ts';

/** Time without a new event after which readers are behind for good. */
const STUCK_MS = 120_000;
const MAX_PAGE = 1000;
/** Pause after which a reader looks for new changes, in milliseconds. */
const SHORT_PAUSE = 50;
const KINDS = ['fast', 'slow', 'broken'] as const;
/** Types of some events, among them each tenant's last one. */
const SOME_TYPES = [
  'deleted',
  'draft_opened',
  'draft_merged',
  'draft_rejected',
  'tenant_suspended',
  'tenant_resumed',
];

/** All readers in a run. */
export class Crowd {
  readonly readers: Reader[] = [];
  readonly #cluster: Cluster;
  readonly #tenants: readonly string[];
  #seed: number;

  constructor(cluster: Cluster, tenants: readonly string[], seed: number) {
    this.#cluster = cluster;
    this.#tenants = tenants;
    this.#seed = seed;
  }

  /** Starts the readers, and returns the one that reads all tenants' changes. */
  openReaders(): Reader {
    for (const [i, tenant] of this.#tenants.entries()) {
      const kind = KINDS[i % 4];
      if (kind !== undefined) this.#stream('stream', kind, { tenants: [tenant], isTimed: kind === 'fast' });
      else if (i % 8 === 3) this.#pages(`pages, ${tenant}`, { tenants: [tenant] }, false);
    }
    for (const kind of KINDS) this.#stream('stream of all tenants', kind, { isTimed: kind === 'fast' });
    this.#pages('interrupted pages of all tenants', {});
    this.#pages('pages of some tenants', { tenants: this.#tenants.filter((_, i) => i % 7 === 0) });
    this.#pages('pages of deletions', { types: ['deleted'] });
    const options = { ...this.#options('pages of all tenants'), isTimed: true };
    return this.#add(
      new PageReader({ ...options, isFleet: true, limit: () => MAX_PAGE, pause: () => SHORT_PAUSE }),
    );
  }

  /** Starts the webhooks' servers. The slow ones receive few messages: the last tenants have few changes. */
  async openEndpoints(): Promise<void> {
    const [first = '', second = '', third = ''] = this.#tenants;
    const [last = '', previous = ''] = this.#tenants.toReversed();
    const endpoints = [
      this.#endpoint('fast', { isTimed: true }),
      this.#endpoint('slow', { types: SOME_TYPES }),
      this.#endpoint('broken', {}),
      this.#endpoint('fast', { tenants: [first], isTimed: true }),
      this.#endpoint('broken', { tenants: [second] }),
      this.#endpoint('broken', { tenants: [third], types: SOME_TYPES }),
      this.#endpoint('slow', { tenants: [last] }),
      this.#endpoint('slow', { tenants: [previous] }),
    ];
    for (const endpoint of endpoints) {
      await endpoint.open();
      this.#add(endpoint);
    }
  }

  /** Starts readers after now, for one tenant and for all. */
  startNow(): void {
    const { random } = this.#options('');
    this.#stream('stream from now', 'fast', { tenants: [random.of(this.#tenants)], startsNow: true });
    this.#pages('pages of all tenants from now', { startsNow: true });
  }

  /** Waits until the readers have seen all changes, and stops them. */
  async finish(history: RecordedHistory): Promise<void> {
    for (const reader of this.readers) reader.hurry();
    await readAll(this.readers, history);
    await Promise.all(this.readers.map((reader) => reader.stop()));
  }

  /** Reads all changes again, by one reader at a time. Returns the readers' events a second. */
  async readAgain(history: RecordedHistory): Promise<string[]> {
    const limits = { limit: () => MAX_PAGE, pause: () => SHORT_PAUSE };
    const [first = ''] = this.#tenants;
    const readers = [
      new PageReader({ ...this.#options('list of all tenants'), ...limits, isFleet: true }),
      new PageReader({ ...this.#options('list of one tenant'), ...limits, isFleet: false, tenants: [first] }),
    ];
    const rates: string[] = [];
    for (const reader of readers) {
      const began = performance.now();
      this.#add(reader);
      await readAll([reader], history);
      const seconds = (performance.now() - began) / 1000;
      await reader.stop();
      rates.push(`${reader.name} read again: ${Math.round(reader.count / seconds)} events a second`);
    }
    return rates;
  }

  countDeliveries(row: Row): void {
    const endpoints = this.readers.filter((reader) => reader instanceof Endpoint);
    const others = this.readers.length - endpoints.length;
    for (const reader of this.readers)
      if (!(reader instanceof Endpoint)) row.count(`deliveries to ${others} readers`, reader.count);
    for (const { count, repeated, failed, aborted } of endpoints) {
      row.count(`deliveries to ${endpoints.length} webhooks`, count);
      row.count('repeated deliveries', repeated);
      row.count('failed deliveries', failed);
      row.count('deliveries aborted by a kill', aborted);
    }
  }

  #stream(name: string, kind: (typeof KINDS)[number], more: Partial<ReaderOptions>): void {
    this.#add(new StreamReader({ ...this.#options(`${kind} ${name}`), ...more, kind }));
  }

  #endpoint(kind: (typeof KINDS)[number], more: Partial<ReaderOptions>): Endpoint {
    const name = `${kind} webhook ${more.tenants ? 'of a tenant' : 'of all tenants'}`;
    return new Endpoint({ ...this.#options(name), ...more, kind });
  }

  #pages(name: string, more: Partial<ReaderOptions>, isFleet = true): void {
    const options = { ...this.#options(name), ...more };
    const limit = () => 1 + options.random.below(options.random.of([3, 30, MAX_PAGE]));
    const pause = () => options.random.below(2000);
    this.#add(new PageReader({ ...options, isFleet, limit, pause, isInterrupted: true }));
  }

  #options(name: string): ReaderOptions {
    return { name, cluster: this.#cluster, random: createRandom(this.#seed++) };
  }

  #add<Added extends Reader>(reader: Added): Added {
    this.readers.push(reader.begin());
    return reader;
  }
}

/** Waits until readers have seen all changes, or see none for `STUCK_MS`. */
async function readAll(readers: readonly Reader[], history: RecordedHistory): Promise<void> {
  const count = () => readers.reduce((sum, reader) => sum + reader.count, 0);
  const isComplete = async () => readers.every((reader) => history.isReadBy(reader));
  for (let last = -1; last !== count(); ) {
    last = count();
    if (await becomesTrue(STUCK_MS, isComplete)) return;
  }
}
