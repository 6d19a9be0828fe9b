import { setTimeout as delay } from 'node:timers/promises';
import { createArchive } from '../../support/create-archive.ts';
import { createRandom, type Random } from '../../support/random.ts';
import { cmd } from '../../support/step-table.ts';
import type { Row } from '../fault-report.ts';
import type { Cluster } from './cluster.ts';
import { Drafts } from './drafts.ts';
import type { RecordedHistory } from './history.ts';
import { directory, FILES, type Input, isFile, randomInput } from './input.ts';
import { Suspensions } from './suspensions.ts';
import { ToolCalls } from './tool-calls.ts';

/** An agent's write. Times are by `performance.now()`. */
export interface Write {
  sent: number;
  /** Infinity while the outcome is unknown, and after an error result. */
  acknowledged: number;
  /** Replica that made the change. Undefined if the write was sent several times. */
  replica: number | undefined;
  /** Whether a success changes a file. A directory may be empty. */
  changesFile: boolean;
}

interface WriterOptions {
  cluster: Cluster;
  tenants: readonly string[];
  seed: number;
  /** Pause between two writes by one writer, in milliseconds. */
  pauseMs: number;
}

/** Maximum time before a restore to which it restores, in seconds. */
const MAX_RESTORED_SECONDS = 60;

/** Agents and operators that change tenants at random, and repeat each write until its outcome is known. */
export class Writers {
  /** Agents' writes by their tool call ID. */
  readonly writes = new Map<string, Write>();
  acknowledged = 0;
  readonly #options: WriterOptions;
  readonly #calls: ToolCalls;
  readonly #drafts: Drafts;
  readonly #suspensions: Suspensions;
  #isStopping = false;
  #running: Promise<unknown> = Promise.resolve();

  constructor(options: WriterOptions) {
    this.#options = options;
    this.#calls = new ToolCalls(options.cluster, options.seed);
    this.#drafts = new Drafts(options.cluster, this.#calls);
    this.#suspensions = new Suspensions(options.cluster);
  }

  /** Imports files, so that a change to a directory changes many of them. */
  async prepare(): Promise<void> {
    const { cluster, tenants } = this.#options;
    const archive = createArchive(Object.fromEntries(FILES.map((path) => [path.slice(1), 'head\n'])));
    for (const id of tenants) {
      await cluster.admin(createRandom(0), '/tenants', { id });
      await cluster.upload(`/tenants/${id}/import`, archive);
    }
  }

  start(count: number): void {
    const writers = Array.from({ length: count }, (_, i) => this.#work(createRandom(this.#options.seed + i)));
    this.#running = Promise.all(writers);
  }

  /** Stops the writers, and deletes a file in each tenant as its last change. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#running;
    const random = createRandom(this.#options.seed);
    for (const tenant of this.#options.tenants) {
      await this.#write(random, tenant, cmd.create('/memories/d0/end'));
      await this.#write(random, tenant, cmd.delete('/memories/d0/end'));
    }
    this.#calls.close();
  }

  /** Checks that the history has each acknowledged change once. */
  check(history: RecordedHistory, row: Row): void {
    row.acknowledged = this.acknowledged;
    row.wrong.push(...this.#calls.problems);
    history.checkWrites(this.writes, row);
    this.#drafts.check(history.changes, row);
    this.#suspensions.check(history.changes, row);
  }

  async #work(random: Random): Promise<void> {
    const { tenants, pauseMs } = this.#options;
    while (!this.#isStopping) {
      // Some tenants have more changes than others.
      const tenant = tenants[Math.min(random.below(tenants.length), random.below(tenants.length))] as string;
      const kind = random.below(300);
      if (kind < 1) await this.#suspensions.suspend(random, tenant);
      else if (kind < 5) await this.#drafts.work(random, tenant);
      else if (kind < 15) await this.#restore(random, tenant);
      else if (kind < 25) await this.#redact(random, tenant);
      else await this.#write(random, tenant, randomInput(random));
      if (pauseMs > 0) await delay(pauseMs);
    }
  }

  async #write(random: Random, tenant: string, input: Input): Promise<void> {
    const id = this.#calls.newId();
    const changesFile = isFile(input.path ?? input.old_path) && input.old_path !== input.new_path;
    const write: Write = { sent: performance.now(), acknowledged: Infinity, replica: undefined, changesFile };
    this.writes.set(id, write);
    const { isError, replica } = await this.#calls.send(random, tenant, input, id);
    if (isError) return;
    Object.assign(write, { acknowledged: performance.now(), replica });
    this.acknowledged++;
  }

  /** Restores a directory or the whole memory to a recent time. */
  async #restore(random: Random, tenant: string): Promise<void> {
    const path = random.of(['/memories', directory(random)]);
    const at = `${1 + random.below(MAX_RESTORED_SECONDS)}s`;
    await this.#options.cluster.admin(random, `/tenants/${tenant}/restore`, { path, at });
  }

  /** Redacts a recent version, if it is superseded. */
  async #redact(random: Random, tenant: string): Promise<void> {
    const { cluster } = this.#options;
    const page = await cluster.admin(random, `/tenants/${tenant}/versions?limit=20`);
    const { versions = [] } = (page?.body ?? {}) as { versions?: { id: string }[] };
    if (versions.length === 0) return;
    await cluster.admin(random, `/tenants/${tenant}/versions/${random.of(versions).id}/redact`, {});
  }
}
