import { Agent } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { createArchive } from '../../support/create-archive.ts';
import { post } from '../../support/faults/post.ts';
import { createRandom, type Random } from '../../support/random.ts';
import { cmd } from '../../support/step-table.ts';
import { LIMIT_MS } from '../environment.ts';
import type { Cluster } from './cluster.ts';

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

const DIRECTORIES = 20;
/** Directories in which files are created. The others are targets for renames. */
const FIRST_DIRECTORIES = 8;
const FILES_PER_DIRECTORY = 25;
/** Maximum time before a restore to which it restores, in seconds. */
const MAX_RESTORED_SECONDS = 60;
const MAX_FILLER = 2000;
const BACKOFF_MS = 60;

/** Agents that write at random, and retry each write until its outcome is known, and an operator. */
export class Writers {
  /** Agents' writes by their tool call ID. */
  readonly writes = new Map<string, Write>();
  readonly problems: string[] = [];
  acknowledged = 0;
  readonly #options: WriterOptions;
  readonly #agent = new Agent({ keepAlive: true });
  #isStopping = false;
  #running: Promise<unknown> = Promise.resolve();
  #sent = 0;

  constructor(options: WriterOptions) {
    this.#options = options;
  }

  /** Imports files, so that a change to a directory changes many of them. */
  async prepare(): Promise<void> {
    const { cluster, tenants } = this.#options;
    const names = Array.from({ length: FIRST_DIRECTORIES * FILES_PER_DIRECTORY }, (_, i) => filePath(i));
    const archive = createArchive(Object.fromEntries(names.map((path) => [path.slice(1), 'head\n'])));
    for (const id of tenants) {
      await cluster.admin(createRandom(0), '/tenants', { id });
      await cluster.upload(`/tenants/${id}/import`, archive);
    }
  }

  start(count: number): void {
    const writers = Array.from({ length: count }, (_, i) =>
      this.#write(createRandom(this.#options.seed + i)),
    );
    this.#running = Promise.all(writers);
  }

  /** Stops the writers, and deletes a file in each tenant as its last change. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#running;
    const random = createRandom(this.#options.seed);
    for (const tenant of this.#options.tenants) {
      await this.#call(random, tenant, cmd.create('/memories/d0/end'));
      await this.#call(random, tenant, cmd.delete('/memories/d0/end'));
    }
    this.#agent.destroy();
  }

  async #write(random: Random): Promise<void> {
    const { tenants, pauseMs } = this.#options;
    while (!this.#isStopping) {
      // Some tenants have more changes than others.
      const tenant = tenants[Math.min(random.below(tenants.length), random.below(tenants.length))] as string;
      const kind = random.below(30);
      if (kind === 0) await this.#restore(random, tenant);
      else if (kind === 1) await this.#redact(random, tenant);
      else await this.#call(random, tenant, randomInput(random));
      if (pauseMs > 0) await delay(pauseMs);
    }
  }

  async #call(random: Random, tenant: string, input: Input): Promise<void> {
    const id = `toolu_${this.#options.seed}_${this.#sent++}`;
    const changesFile = isFile(input.path ?? input.old_path) && input.old_path !== input.new_path;
    const write: Write = { sent: performance.now(), acknowledged: Infinity, replica: undefined, changesFile };
    this.writes.set(id, write);
    const body = JSON.stringify({ type: 'tool_use', id, name: 'memory', input });
    for (let attempts = 1; ; attempts++) {
      const { cluster } = this.#options;
      const replica = random.below(cluster.count);
      const attempt = await post(cluster.url(replica), this.#agent, tenant, body, LIMIT_MS).catch(
        () => undefined,
      );
      if (attempt?.status === 200) {
        if (attempt.isError) return;
        write.acknowledged = performance.now();
        if (attempts === 1) write.replica = replica;
        this.acknowledged++;
        return;
      }
      if (attempt !== undefined && attempt.status !== 503)
        this.problems.push(`a write got ${attempt.status} ${attempt.content}`);
      await delay(BACKOFF_MS + random.below(BACKOFF_MS));
    }
  }

  /** Restores a directory or the whole memory to a recent time. */
  async #restore(random: Random, tenant: string): Promise<void> {
    const path = random.of(['/memories', directory(random)]);
    const at = `${1 + random.below(MAX_RESTORED_SECONDS)}s`;
    await this.#operate(random, `/tenants/${tenant}/restore`, { path, at });
  }

  /** Redacts a recent version, if it is superseded. */
  async #redact(random: Random, tenant: string): Promise<void> {
    const page = await this.#operate(random, `/tenants/${tenant}/versions?limit=20`);
    const { versions = [] } = (page ?? {}) as { versions?: { id: string }[] };
    if (versions.length === 0) return;
    await this.#operate(random, `/tenants/${tenant}/versions/${random.of(versions).id}/redact`, {});
  }

  async #operate(random: Random, path: string, body?: object): Promise<unknown> {
    const response = await this.#options.cluster.admin(random, path, body);
    if (response !== undefined && response.status >= 500 && response.status !== 503)
      this.problems.push(`an operation got ${response.status} ${JSON.stringify(response.body)}`);
    return response?.status === 200 ? response.body : undefined;
  }
}

interface Input {
  command: string;
  path?: string;
  old_path?: string;
  new_path?: string;
}

const directory = (random: Random) => `/memories/d${random.below(DIRECTORIES)}`;
const filePath = (number: number) =>
  `/memories/d${number % FIRST_DIRECTORIES}/f${Math.floor(number / FIRST_DIRECTORIES)}`;
const file = (random: Random) => filePath(random.below(FIRST_DIRECTORIES * FILES_PER_DIRECTORY));

const isFile = (path = '') => path.split('/').length === 4;

const INPUTS: ((random: Random) => Input)[] = [
  ...Array(8).fill((random: Random) =>
    cmd.create(file(random), `head ${random.below(1e9)}\n${'x'.repeat(random.below(MAX_FILLER))}\n`),
  ),
  ...Array(5).fill((random: Random) => cmd.insert(file(random), 1, `line ${random.below(1e9)}\n`)),
  ...Array(3).fill((random: Random) => cmd.replace(file(random), 'head', 'tail')),
  ...Array(3).fill((random: Random) => cmd.replace(file(random), 'tail', 'head')),
  ...Array(3).fill((random: Random) => cmd.rename(file(random), file(random))),
  ...Array(3).fill((random: Random) => cmd.delete(file(random))),
  ...Array(12).fill((random: Random) => cmd.rename(directory(random), directory(random))),
  (random: Random) => cmd.delete(directory(random)),
];

const randomInput = (random: Random) => random.of(INPUTS)(random);
