import { LRUCache } from 'lru-cache';
import { ConcurrencyLimiter } from '../lib/concurrency-limiter.ts';
import { maxEntries } from '../lib/max-entries.ts';
import { DatabaseError, QUERY_CANCELED } from './database-errors.ts';
import type { QueryExecutor } from './query.ts';

/** Maximum time for a statement in its node's queue. A node without a result for this time is suspected to hang. */
const PATIENCE_MS = 2000;
const MAX_WAITING = 1000;
const CACHED_TENANTS = 50_000;
/** Tenants move between nodes. A tenant that counts towards its earlier node does no harm. */
const CACHED_MS = 60_000;

interface Node {
  running: number;
  /** Time when the last result arrived, or when the first statement after an idle time began. */
  resultAt: number;
  /** Whether a statement ended without a result, and no later one had a result. */
  hangs: boolean;
}

export interface NodeEvents {
  /** Reports that a node accepts statements, but returns no results. */
  nodeHangs(node: string): void;
  nodeResponds(node: string): void;
}

/**
 * Limits the connections for each Citus node's tenants to a share of the pool, so that a node that hangs, without
 * closing its connections, does not use all connections. While a node hangs, its tenants are rejected immediately,
 * except for one statement at a time, which finds out whether the node responds again.
 */
export class NodeShares {
  readonly #tenants: LRUCache<string, string>;
  readonly #limiter: ConcurrencyLimiter;
  readonly #share: number;
  readonly #nodes = new Map<string, Node>();
  readonly #events: NodeEvents;
  readonly #now: () => number;

  /**
   * @param share maximum number of concurrent statements on each node
   * @param findNode looks up a tenant's node
   */
  constructor(
    share: number,
    findNode: (tenant: string) => Promise<string>,
    events: NodeEvents,
    now: () => number = performance.now.bind(performance),
  ) {
    this.#share = share;
    this.#events = events;
    this.#now = now;
    this.#limiter = new ConcurrencyLimiter(
      { total: 0, perKey: share, maxWaiting: MAX_WAITING, maxWaitMs: PATIENCE_MS },
      nodeHangs,
    );
    this.#tenants = new LRUCache({ ...maxEntries(CACHED_TENANTS), ttl: CACHED_MS, fetchMethod: findNode });
  }

  /**
   * Returns an executor that counts statements for tenants. Other statements, which may concern all nodes, are not
   * counted.
   *
   * @param options.waits whether a statement waits for its node's share. A transaction does not wait, because it
   * already has a connection
   */
  executor(execute: QueryExecutor, { waits }: { waits: boolean }): QueryExecutor {
    return async (statement, params) => {
      const { tenant } = params;
      if (typeof tenant !== 'string') return execute(statement, params);
      const name = this.#tenants.get(tenant) ?? (await this.#tenants.fetch(tenant)) ?? '';
      const node = this.#nodeNamed(name);
      if (this.#isClosed(node)) throw nodeHangs();
      const slot = this.#limiter.slot(name);
      if (waits) await slot.acquire(1);
      else slot.add(1);
      if (node.running++ === 0) node.resultAt = this.#now();
      try {
        const result = await execute(statement, params);
        this.#noteResult(name, node);
        return result;
      } catch (error) {
        if (isWithoutResult(error)) this.#noteFailure(name, node);
        else this.#noteResult(name, node);
        throw error;
      } finally {
        node.running--;
        slot.release();
      }
    };
  }

  #nodeNamed(name: string): Node {
    let node = this.#nodes.get(name);
    if (node === undefined) {
      node = { running: 0, resultAt: this.#now(), hangs: false };
      this.#nodes.set(name, node);
    }
    return node;
  }

  #isClosed(node: Node): boolean {
    return node.hangs ? node.running > 0 : node.running >= this.#share && this.#isSilent(node);
  }

  #isSilent({ resultAt }: Node): boolean {
    return this.#now() - resultAt >= PATIENCE_MS;
  }

  #noteResult(name: string, node: Node): void {
    node.resultAt = this.#now();
    if (node.hangs) this.#events.nodeResponds(name);
    node.hangs = false;
  }

  /** A node that is down rejects a statement immediately. Only a node without any result for some time hangs. */
  #noteFailure(name: string, node: Node): void {
    if (node.hangs || !this.#isSilent(node)) return;
    node.hangs = true;
    this.#events.nodeHangs(name);
  }
}

function isWithoutResult(error: unknown): boolean {
  return error instanceof DatabaseError && (error.isUnavailable || error.sqlState === QUERY_CANCELED);
}

/** Creates the error for a statement that was not sent. */
function nodeHangs(): DatabaseError {
  return new DatabaseError(new Error('the node of the tenant does not respond'), { connecting: true });
}
