import { createHash } from 'node:crypto';
import type { Random } from '../../support/random.ts';
import type { Cluster } from './cluster.ts';
import type { Change } from './history.ts';

/** An event in the feed, as far as readers examine it. */
export interface FeedEvent {
  type: string;
  tenant: string;
  at: string;
  cursor: string;
  /** Undefined for an event of the tenant. */
  version?: { id: string; tool_use_id: string | null; content_sha256: string | null };
  content?: string | null;
}

/** Time from a change to its event's arrival. */
export interface Delay {
  /** The change's time, in epoch milliseconds. */
  at: number;
  ms: number;
  toolUse: string | null;
  /** The replica that sent the event. */
  replica: number;
}

export interface ReaderOptions {
  name: string;
  cluster: Cluster;
  random: Random;
  /** Tenants whose changes the reader reads. Undefined for all. */
  tenants?: readonly string[];
  startsNow?: boolean;
  onlyDeletions?: boolean;
  /** Whether the events' delays are measured. */
  isTimed?: boolean;
}

/** Reads changes, continues after each break, and remembers the events. */
export abstract class Reader {
  /** Event keys by tenant, in the order in which they arrived. */
  readonly seen = new Map<string, string[]>();
  readonly delays: Delay[] = [];
  readonly problems: string[] = [];
  /** Times, by `performance.now()`, between which a reader that starts now got its position. */
  start: { requested: number; received: number } | undefined;
  count = 0;
  protected readonly options: ReaderOptions;
  protected isStopped = false;
  /** Whether the reader no longer pauses. */
  protected isHurrying = false;
  #reading: Promise<void> = Promise.resolve();

  constructor(options: ReaderOptions) {
    this.options = options;
  }

  get name(): string {
    return this.options.name;
  }

  reads(tenant: string): boolean {
    return this.options.tenants?.includes(tenant) ?? true;
  }

  wants({ isDeletion }: Change): boolean {
    return isDeletion || !this.options.onlyDeletions;
  }

  begin(): this {
    this.#reading = this.read();
    return this;
  }

  hurry(): void {
    this.isHurrying = true;
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    await this.#reading;
  }

  protected abstract read(): Promise<void>;

  protected record({ type, tenant, at, version, content }: FeedEvent, replica: number): void {
    this.count++;
    const seen = this.seen.get(tenant);
    const key = version ? `${type === 'redacted' ? 'redaction' : 'version'} ${version.id}` : `${type} ${at}`;
    if (seen) seen.push(key);
    else this.seen.set(tenant, [key]);
    if (this.options.isTimed) {
      const made = Date.parse(at);
      this.delays.push({ at: made, ms: Date.now() - made, toolUse: version?.tool_use_id ?? null, replica });
    }
    if (typeof content === 'string' && hash(content) !== version?.content_sha256)
      this.problems.push(`${this.name}: the content of ${key} is another version's`);
  }

  protected noteStatus(status: number): void {
    if (status !== 429 && status !== 503) this.problems.push(`${this.name} got ${status}`);
  }
}

const hash = (text: string) => createHash('sha256').update(text).digest('hex');
