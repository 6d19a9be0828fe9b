/**
 * Clients that retry writes under idempotency keys until they receive a response, and a ledger with the database's
 * expected contents.
 */
import { randomUUID } from 'node:crypto';
import { Agent } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { cmd } from '../step-table.ts';
import { type Attempt, post } from './post.ts';

export type Query = (sql: string, parameters?: unknown[]) => Promise<Record<string, unknown>[]>;

/** One possible state of a client's files: contents by path below its directory. */
type Files = Readonly<Record<string, string>>;

/**
 * Times when a write was first sent and acknowledged, by `performance.now()`. Infinity means that the write was
 * abandoned or is in flight.
 */
interface Write {
  /** Tool call ID, which the history records. */
  toolUse: string;
  sent: number;
  acknowledged: number;
}

/** Interval in which the database was read or copied. */
export interface TimeSpan {
  from: number;
  until: number;
}

export interface WorkloadOptions {
  /** Returns the service's URL. Called before each attempt. */
  url: () => string;
  tenants: string[];
  clientsPerTenant: number;
  /** Maximum duration for an attempt before it counts as hung. */
  limitMs: number;
  /** Whether connections to the service can break, for example when the service is killed. */
  mayBreak?: boolean;
  /** Probability that a client abandons a write after a failed attempt instead of retrying it. */
  abandon?: number;
  /** Returns the content for a new file, which the client will delete or keep. */
  text?: (deletes: boolean) => string;
}

export interface Verdict {
  acknowledged: number;
  lost: string[];
  doubled: string[];
  wrong: string[];
}

/** Time that clients wait before a retry. It is shorter than Retry-After, to increase the load. */
const BACKOFF_MS = 60;

export class Workload {
  /** Count and longest duration by status or error code. */
  readonly statuses = new Map<string, { count: number; longestMs: number }>();
  readonly problems: string[] = [];
  acknowledged = 0;
  abandoned = 0;
  longestMs = 0;
  /** Totals for all files that `verify` has compared. */
  compared = { files: 0, bytes: 0 };
  readonly #options: WorkloadOptions;
  readonly #agent: Agent;
  /** Possible states of each client's files, one per write. */
  readonly #slots = new Map<string, (Write & { files: Files })[]>();
  readonly #lines = new Map<string, Write>();
  readonly #acknowledging = new Set<() => void>();
  #stopping = false;
  #running: Promise<unknown> | undefined;

  constructor(options: WorkloadOptions) {
    this.#options = options;
    this.#agent = new Agent({ keepAlive: true, maxSockets: Infinity });
  }

  start(): void {
    this.#stopping = false;
    this.#running = Promise.all(
      this.#options.tenants.flatMap((tenant) =>
        Array.from({ length: this.#options.clientsPerTenant }, () => this.#client(tenant)),
      ),
    );
  }

  /** Stops the clients after their current round of writes. */
  async stop(): Promise<void> {
    this.#stopping = true;
    await this.#running;
    this.#agent.destroy();
  }

  /** Resolves when `count` more writes have been acknowledged. */
  async acknowledge(count: number): Promise<void> {
    const enough = this.acknowledged + count;
    while (this.acknowledged < enough) {
      await new Promise<void>((resolve) => this.#acknowledging.add(resolve));
      this.#acknowledging.clear();
    }
  }

  async #client(tenant: string): Promise<void> {
    const name = randomUUID().slice(0, 8);
    await this.#write(tenant, cmd.create('/memories/log', ''), undefined);
    for (let n = 0; !this.#stopping; n++) await this.#slot(tenant, `${name}-${n}`, n % 2 === 0);
  }

  /**
   * Creates a file, renames it, inserts a line into a file that the tenant's clients share, and deletes the file on
   * request.
   */
  async #slot(tenant: string, slot: string, deletes: boolean): Promise<void> {
    const text = this.#options.text?.(deletes) ?? `${slot} text`;
    const [a, b] = [`/memories/${slot}/a`, `/memories/${slot}/b`];
    const states: (Write & { files: Files })[] = [];
    this.#slots.set(`${tenant} ${slot}`, states);
    const step = (input: object, expected: string, files: Files) => {
      const write = { ...sentNow(), files };
      states.push(write);
      return this.#recordedWrite(write, tenant, input, expected);
    };
    if (!(await step(cmd.create(a, text), `File created successfully at: ${a}`, { a: text }))) return;
    await this.#line(tenant, slot);
    if (!(await step(cmd.rename(a, b), `Successfully renamed ${a} to ${b}`, { b: text }))) return;
    if (!deletes) return;
    await step(cmd.delete(b), `Successfully deleted ${b}`, {});
  }

  async #line(tenant: string, line: string): Promise<void> {
    const write = sentNow();
    this.#lines.set(`${tenant} ${line}`, write);
    const input = cmd.insert('/memories/log', 0, line);
    await this.#recordedWrite(write, tenant, input, 'The file /memories/log has been edited.');
  }

  async #recordedWrite(write: Write, tenant: string, input: object, expected: string): Promise<boolean> {
    const done = await this.#write(tenant, input, expected, write.toolUse);
    if (done) write.acknowledged = performance.now();
    return done;
  }

  /**
   * Sends a block until it receives a response or is abandoned. Without an expected result, it is never abandoned.
   * Returns whether the write was acknowledged.
   */
  async #write(
    tenant: string,
    input: object,
    expected: string | undefined,
    toolUse = newToolUse(),
  ): Promise<boolean> {
    const body = JSON.stringify({ type: 'tool_use', id: toolUse, name: 'memory', input });
    for (;;) {
      const attempt = await this.#attempt(tenant, body);
      if (attempt?.status === 200) {
        if (expected !== undefined && attempt.content !== expected)
          this.problems.push(`${body} answered ${attempt.content}`);
        this.acknowledged++;
        for (const notify of this.#acknowledging) notify();
        return true;
      }
      if (expected !== undefined && Math.random() < (this.#options.abandon ?? 0.05)) {
        this.abandoned++;
        return false;
      }
      await delay(BACKOFF_MS * (0.5 + Math.random()));
    }
  }

  async #attempt(tenant: string, body: string): Promise<Attempt | undefined> {
    const started = performance.now();
    const outcome = await post(this.#options.url(), this.#agent, tenant, body, this.#options.limitMs).catch(
      (error: NodeJS.ErrnoException) => error,
    );
    const ms = performance.now() - started;
    this.longestMs = Math.max(this.longestMs, ms);
    const name = outcome instanceof Error ? (outcome.code ?? outcome.message) : String(outcome.status);
    const { count, longestMs } = this.statuses.get(name) ?? { count: 0, longestMs: 0 };
    this.statuses.set(name, { count: count + 1, longestMs: Math.max(longestMs, ms) });
    if (outcome instanceof Error) {
      if (name === 'HUNG' || !this.#options.mayBreak) this.problems.push(`a request ended with ${name}`);
      return undefined;
    }
    if (outcome.status !== 200 && !(outcome.status === 503 && outcome.retryAfter)) {
      this.problems.push(`${outcome.status} ${outcome.content}, Retry-After ${outcome.retryAfter}`);
    }
    return outcome;
  }

  /** Compares the ledger with the database while no client runs, or with a copy made within `span`. */
  async verify(query: Query, span: TimeSpan = currentTime()): Promise<Verdict> {
    const verdict: Verdict = {
      acknowledged: this.acknowledged,
      lost: [],
      doubled: [],
      wrong: [...this.problems],
    };
    const rows = await query(
      `SELECT tenant_id, path, content FROM entries WHERE kind = 'file' AND tenant_id = ANY (string_to_array($1, ','))`,
      [this.#options.tenants.join(',')],
    );
    const found = new Map<string, Record<string, string>>();
    const lines = new Map<string, number>();
    for (const { tenant_id: tenant, path, content } of rows) {
      this.compared.files++;
      this.compared.bytes += Buffer.byteLength(String(content));
      const [, , slot = '', file = ''] = String(path).split('/');
      if (slot === 'log') {
        for (const line of String(content).split('\n').filter(Boolean)) {
          const key = `${tenant} ${line}`;
          lines.set(key, (lines.get(key) ?? 0) + 1);
        }
      } else {
        const key = `${tenant} ${slot}`;
        found.set(key, { ...found.get(key), [file]: String(content) });
      }
    }
    for (const [slot, states] of this.#slots) {
      const files = found.get(slot) ?? {};
      found.delete(slot);
      if (allowedStates(states, span).some((each) => JSON.stringify(each) === JSON.stringify(files)))
        continue;
      const what = `${slot}: found ${Object.keys(files).join(' and ') || 'nothing'}, a state that no write left`;
      (Object.keys(files).length > 1 ? verdict.doubled : verdict.lost).push(what);
    }
    for (const slot of found.keys()) verdict.wrong.push(`${slot}: nobody wrote it`);
    for (const [line, { sent, acknowledged }] of this.#lines) {
      const times = lines.get(line) ?? 0;
      lines.delete(line);
      if (times > 1) verdict.doubled.push(`the line ${line} was found ${times} times`);
      if (times === 0 && acknowledged <= span.from) verdict.lost.push(`the line ${line}`);
      if (times > 0 && sent > span.until)
        verdict.wrong.push(`the line ${line} was found before it was written`);
    }
    for (const line of lines.keys()) verdict.wrong.push(`the line ${line}: nobody wrote it`);
    await this.#verifyHistory(query, span, verdict);
    return verdict;
  }

  /** Each acknowledged write changes one file, so it creates one version. */
  async #verifyHistory(query: Query, span: TimeSpan, verdict: Verdict): Promise<void> {
    const rows = await query(
      `SELECT origin ->> 'toolUseId' AS use, count(*)::integer AS times FROM memory_versions
       WHERE tenant_id = ANY (string_to_array($1, ',')) GROUP BY 1`,
      [this.#options.tenants.join(',')],
    );
    const times = new Map(rows.map((row) => [String(row.use), Number(row.times)]));
    for (const write of [...this.#lines.values(), ...[...this.#slots.values()].flat()]) {
      const found = times.get(write.toolUse) ?? 0;
      const what = `the write ${write.toolUse} in the history`;
      if (found > 1) verdict.doubled.push(`${what}, ${found} times`);
      if (found === 0 && write.acknowledged <= span.from) verdict.lost.push(what);
      if (found > 0 && write.sent > span.until) verdict.wrong.push(`${what}, before it was sent`);
    }
  }
}

const newToolUse = () => `toolu_${randomUUID()}`;

const sentNow = (): Write => ({
  toolUse: newToolUse(),
  sent: performance.now(),
  acknowledged: Number.POSITIVE_INFINITY,
});

function currentTime(): TimeSpan {
  const time = performance.now();
  return { from: time, until: time };
}

/**
 * Returns the possible states of a client's files at a time: the state after the last acknowledged write, or after a
 * write in flight.
 */
function allowedStates(states: (Write & { files: Files })[], { from, until }: TimeSpan): Files[] {
  const resolved = states.findLastIndex(({ acknowledged }) => acknowledged <= from);
  const inFlight = states.slice(resolved + 1).filter(({ sent }) => sent <= until);
  return [states[resolved]?.files ?? {}, ...inFlight.map(({ files }) => files)];
}
