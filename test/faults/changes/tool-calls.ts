import { Agent } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { post } from '../../support/faults/post.ts';
import type { Random } from '../../support/random.ts';
import { LIMIT_MS } from '../environment.ts';
import type { Cluster } from './cluster.ts';
import type { Input } from './input.ts';

export interface ToolResult {
  isError: boolean;
  /** The replica that responded. Undefined if the call was sent several times. */
  replica: number | undefined;
}

const BACKOFF_MS = 60;
/** A suspended tenant's status, and an unavailable service's. */
const REPEATED = [403, 503];

/** Sends tool calls to random replicas, and repeats each call until its outcome is known. */
export class ToolCalls {
  readonly problems: string[] = [];
  readonly #cluster: Cluster;
  /** Prefix of the calls' IDs. */
  readonly #prefix: string;
  readonly #agent = new Agent({ keepAlive: true });
  #count = 0;

  constructor(cluster: Cluster, seed: number) {
    this.#cluster = cluster;
    this.#prefix = `toolu_${seed}_`;
  }

  newId(): string {
    return `${this.#prefix}${this.#count++}`;
  }

  async send(random: Random, tenant: string, input: Input, id = this.newId()): Promise<ToolResult> {
    const body = JSON.stringify({ type: 'tool_use', id, name: 'memory', input });
    for (let attempts = 1; ; attempts++) {
      const replica = random.below(this.#cluster.count);
      const attempt = await post(this.#cluster.url(replica), this.#agent, tenant, body, LIMIT_MS).catch(
        () => undefined,
      );
      if (attempt?.status === 200)
        return { isError: attempt.isError, replica: attempts === 1 ? replica : undefined };
      if (attempt !== undefined && !REPEATED.includes(attempt.status))
        this.problems.push(`a write got ${attempt.status} ${attempt.content}`);
      await delay(BACKOFF_MS + random.below(BACKOFF_MS));
    }
  }

  close(): void {
    this.#agent.destroy();
  }
}
