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
  /** Undefined for a tenant's or a draft's event. */
  version?: { id: string; tool_use_id: string | null; content_sha256: string | null };
  draft?: { id: string };
  content?: string | null;
}

/** Time from a change to its event's arrival. */
export interface Delay {
  /** The change's time, in epoch milliseconds. */
  at: number;
  ms: number;
  toolUse: string | null;
  /** The replica that sent the event. Undefined for a webhook. */
  replica: number | undefined;
}

export interface ReaderOptions {
  name: string;
  cluster: Cluster;
  random: Random;
  /** Tenants whose changes the reader reads. Undefined for all. */
  tenants?: readonly string[];
  startsNow?: boolean;
  /** Types to read. Undefined for all. */
  types?: readonly string[];
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

  /** Whether the reader follows all tenants' changes. */
  get isFleet(): boolean {
    return this.options.tenants === undefined;
  }

  reads(tenant: string): boolean {
    return this.options.tenants?.includes(tenant) ?? true;
  }

  wants({ type }: Change): boolean {
    return this.options.types?.includes(type) ?? true;
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

  protected record(event: FeedEvent, replica: number | undefined): void {
    const { tenant, at, version, content } = event;
    this.count++;
    const seen = this.seen.get(tenant);
    const key = eventKey(event);
    if (seen) seen.push(key);
    else this.seen.set(tenant, [key]);
    if (this.options.isTimed) {
      const made = Date.parse(at);
      this.delays.push({ at: made, ms: Date.now() - made, toolUse: version?.tool_use_id ?? null, replica });
    }
    if (typeof content === 'string' && hash(content) !== version?.content_sha256)
      this.problems.push(`${this.name}: the content of ${key} is another version's`);
  }

  /** 403 means that the tenant is suspended. */
  protected noteStatus(status: number): void {
    if (![403, 429, 503].includes(status)) this.problems.push(`${this.name} got ${status}`);
  }
}

/** Returns the same key as `Change.key`. */
export function eventKey({ type, at, version, draft }: FeedEvent): string {
  if (version) return `${type === 'redacted' ? 'redaction' : 'version'} ${version.id}`;
  return `${type} ${draft?.id ?? at}`;
}

const hash = (text: string) => createHash('sha256').update(text).digest('hex');
