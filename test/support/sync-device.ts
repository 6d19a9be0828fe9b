import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Caller } from '../../src/core/cli/caller.ts';
import type { SyncChange } from '../../src/features/sync/cli/changes.ts';
import { LocalDirectory, makeStateDirectory } from '../../src/features/sync/cli/local-directory.ts';
import { RemoteMemory } from '../../src/features/sync/cli/remote-memory.ts';
import { SyncState } from '../../src/features/sync/cli/sync-state.ts';
import {
  type Sides,
  type SyncOptions,
  type SyncResult,
  synchronize,
} from '../../src/features/sync/cli/synchronize.ts';
import { readTree } from './invariants.ts';
import { cmd } from './step-table.ts';
import type { Service } from './test-service.ts';

/** Files with their contents, by path below the root. */
export type FileContents = Record<string, string>;

/** A place whose files a user or an agent changes. */
export interface Editor {
  files(): Promise<FileContents>;
  put(name: string, text: string): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  delete(name: string): Promise<void>;
}

/** A local directory that is synchronized with a tenant's memory. */
export class Device implements Editor {
  readonly directory: string;
  readonly name: string;

  constructor(directory: string, name: string) {
    this.directory = directory;
    this.name = name;
  }

  async files(): Promise<FileContents> {
    await mkdir(this.directory, { recursive: true });
    const entries = await readdir(this.directory, { recursive: true, withFileTypes: true });
    const files: FileContents = {};
    for (const entry of entries) {
      const path = join(entry.parentPath, entry.name);
      if (entry.isFile() && !path.includes('/.memory-service/'))
        files[path.slice(this.directory.length + 1)] = await readFile(path, 'utf8');
    }
    return files;
  }

  async put(name: string, text: string | Buffer): Promise<void> {
    await mkdir(dirname(join(this.directory, name)), { recursive: true });
    await writeFile(join(this.directory, name), text);
  }

  async rename(from: string, to: string): Promise<void> {
    await mkdir(dirname(join(this.directory, to)), { recursive: true });
    await rename(join(this.directory, from), join(this.directory, to));
  }

  async delete(name: string): Promise<void> {
    await rm(join(this.directory, name));
  }

  /**
   * Synchronizes in this process.
   *
   * @param intercept is called with each call to a side or to the state
   */
  async sync(
    caller: Caller,
    tenant: string,
    intercept: Intercept = (call) => call(),
    options: Partial<SyncOptions> = {},
  ): Promise<SyncResult & { changes: SyncChange[] }> {
    const remote = new RemoteMemory(caller, tenant);
    await makeStateDirectory(this.directory);
    const state = await SyncState.open(this.directory, tenant, (await remote.state()).createdAt);
    const sides: Sides = {
      local: interceptCalls(new LocalDirectory(this.directory), intercept),
      remote: interceptCalls(remote, intercept),
      state: interceptCalls(state, intercept),
    };
    const changes: SyncChange[] = [];
    try {
      const result = await synchronize(sides, {
        device: this.name,
        dryRun: false,
        allowEmpty: true,
        isCaseInsensitive: false,
        onChange: (change) => changes.push(change),
        ...options,
      });
      return { ...result, changes };
    } finally {
      await state.close();
    }
  }
}

/** Runs a call, and may do something before or after it. */
export type Intercept = <T>(call: () => T) => T | Promise<T>;

function interceptCalls<T extends object>(target: T, intercept: Intercept): T {
  return new Proxy(target, {
    get(_, name) {
      const value = Reflect.get(target, name, target);
      return typeof value === 'function'
        ? (...args: unknown[]) => intercept(() => value.apply(target, args))
        : value;
    },
  });
}

/** An agent that changes a tenant's memory with the memory tool. */
export class Agent implements Editor {
  readonly #service: Service;
  readonly #tenant: string;

  constructor(service: Service, tenant: string) {
    this.#service = service;
    this.#tenant = tenant;
  }

  async files(): Promise<FileContents> {
    const tree = await readTree(this.#service, this.#tenant);
    return Object.fromEntries(
      [...tree].flatMap(([path, text]) => (text === null ? [] : [[path.slice('/memories/'.length), text]])),
    );
  }

  async put(name: string, text: string): Promise<void> {
    const before = (await this.files())[name];
    if (before === undefined) return this.#execute(cmd.create(`/memories/${name}`, text));
    if (before !== text) return this.#execute(cmd.replace(`/memories/${name}`, before, text));
  }

  rename(from: string, to: string): Promise<void> {
    return this.#execute(cmd.rename(`/memories/${from}`, `/memories/${to}`));
  }

  delete(name: string): Promise<void> {
    return this.#execute(cmd.delete(`/memories/${name}`));
  }

  async #execute(input: object): Promise<void> {
    const { body } = await this.#service.execute(input, { tenant: this.#tenant });
    if (body.is_error !== false) throw new Error(`${JSON.stringify(input)}: ${JSON.stringify(body)}`);
  }
}
