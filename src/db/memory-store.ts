import { randomUUID } from 'node:crypto';
import { ancestorsOf, isBelow, type MemoryPath, ROOT } from '../memory/path.ts';
import { type MemoryResult, success } from '../memory/result.ts';
import type {
  Created,
  Edit,
  Edited,
  ListedEntry,
  Looked,
  MemoryStore,
  PlainEdit,
  Renamed,
} from '../memory/store.ts';
import { AccessTimes, accessedBefore } from './access-times.ts';
import type { Database } from './database.ts';
import { type Quotas, whyNotCreated, whyNotEdited, whyNotRenamed } from './obstacles.ts';
import { type RequestKey, receiptOf, rememberFailure } from './receipts.ts';
import type { Run, Statement, Value } from './statement.ts';
import {
  type FileRow,
  insertIntoFileStatement,
  type LookedRow,
  lookAtFileStatement,
  lookStatement,
  readFileStatement,
  replaceInFileStatement,
} from './statements/reading.ts';
import type { Receipt } from './statements/receipts.ts';
import {
  createFileAndTenantStatement,
  createFileStatement,
  deleteStatement,
  renameStatement,
  writeFileStatement,
} from './statements/writing.ts';
import { type Write, Writer } from './writer.ts';

/** The memory of all tenants in one database. */
export class PostgresMemory {
  readonly #writer: Writer;
  readonly #quotas: Quotas;
  readonly #accessTimes: AccessTimes;

  constructor(database: Database, quotas: Quotas) {
    this.#writer = new Writer(database);
    this.#quotas = quotas;
    this.#accessTimes = new AccessTimes(this.#writer);
  }

  /**
   * One tenant's memory. `tenant` has to be a valid tenant id; with `autoCreate` its first file makes the tenant; with
   * `request` a write is done once under that key.
   */
  forTenant(tenant: string, options: { autoCreate: boolean; request?: RequestKey | undefined }): MemoryStore {
    return new TenantMemory({
      tenant,
      ...options,
      quotas: this.#quotas,
      writer: this.#writer,
      accessTimes: this.#accessTimes,
    });
  }

  /** Writes what is still to be written in the background. Call it when no more requests come. */
  close(): Promise<void> {
    return this.#accessTimes.close();
  }
}

interface TenantContext {
  tenant: string;
  autoCreate: boolean;
  request?: RequestKey | undefined;
  quotas: Quotas;
  writer: Writer;
  accessTimes: AccessTimes;
}

class TenantMemory implements MemoryStore {
  readonly #context: TenantContext;
  #tried = false;

  constructor(context: TenantContext) {
    this.#context = context;
  }

  async look(path: MemoryPath, maxEntries: number): Promise<Looked> {
    const { tenant, writer } = this.#context;
    if (isNamedLikeFile(path)) {
      const params = { tenant, path, accessedBefore: accessedBefore() };
      const [entry] = (await writer.read(lookAtFileStatement, params)).rows;
      if (!entry?.kind) return { kind: 'missing' };
      if (entry.kind === 'file') return this.#file(path, entry);
      // A directory after all: it is looked at again with what is below it, so that both are as at one moment.
    }
    const params = { tenant, path, maxEntries, accessedBefore: accessedBefore() };
    const [entry] = (await writer.read(lookStatement, params)).rows;
    if (!entry?.kind) {
      return path === ROOT ? { kind: 'dir', entries: [], total: 0 } : { kind: 'missing' };
    }
    if (entry.kind === 'file') return this.#file(path, entry);
    return { kind: 'dir', entries: entriesOf(entry), total: entry.total ?? 0 };
  }

  #file(path: MemoryPath, { content, stale }: Pick<LookedRow, 'content' | 'stale'>): Looked {
    const { tenant, accessTimes } = this.#context;
    if (stale) accessTimes.note(tenant, path);
    return { kind: 'file', content: content ?? '' };
  }

  create(path: MemoryPath, content: string, answer: MemoryResult): Promise<Created> {
    const { tenant, autoCreate, quotas } = this.#context;
    const ancestors = ancestorsOf(path);
    const statement = autoCreate ? createFileAndTenantStatement : createFileStatement;
    return this.#write<Created>({
      execute: async (run) => {
        const version = randomUUID();
        const parent = ancestors.at(-1) ?? ROOT;
        const file = { tenant, path, ancestors, parent, content, version, ...quotas };
        const count = await this.#change(run, statement, file, answer);
        return count === 1 ? { kind: 'created' } : undefined;
      },
      explain: (run) => whyNotCreated(run, { tenant, path, ancestors, content }, { quotas, autoCreate }),
    });
  }

  edit(
    path: MemoryPath,
    change: (content: string) => Edit | Promise<Edit>,
    plain?: PlainEdit,
  ): Promise<Edited> {
    const { tenant, quotas } = this.#context;
    const { maxBytes } = quotas;
    return this.#write<Edited>({
      execute: async (run) => {
        const file = plain ? await this.#editOrRead(run, path, plain) : await this.#read(run, path);
        if (file === undefined) return { kind: 'missing' };
        if ('answer' in file) return { kind: 'edited', result: success(file.answer) };
        const { content, result } = await change(file.content);
        if (content === undefined) return { kind: 'refused', result };
        const written = { tenant, path, readVersion: file.version, content, version: randomUUID(), maxBytes };
        const count = await this.#change(run, writeFileStatement, written, result);
        return count === 1 ? { kind: 'edited', result } : undefined;
      },
      explain: (run) => whyNotEdited(run, { tenant, path }, change, quotas),
    });
  }

  async #read(run: Run, path: MemoryPath): Promise<FileRow | undefined> {
    const { tenant } = this.#context;
    return (await run(readFileStatement, { tenant, path })).rows[0];
  }

  /** Does the edit if that is plain, and answers what to answer; else the file. */
  async #editOrRead(
    run: Run,
    path: MemoryPath,
    plain: PlainEdit,
  ): Promise<FileRow | { answer: string } | undefined> {
    const { tenant, quotas, request } = this.#context;
    const params = {
      ...{ tenant, path, version: randomUUID(), maxBytes: quotas.maxBytes },
      ...{ keyHash: request?.keyHash ?? null, requestHash: request?.requestHash ?? null },
    };
    const { rows } =
      'line' in plain
        ? await run(insertIntoFileStatement, { ...params, ...plain })
        : await run(replaceInFileStatement, { ...params, ...plain });
    return rows[0];
  }

  delete(path: MemoryPath, answer: MemoryResult): Promise<'deleted' | 'missing'> {
    const { tenant } = this.#context;
    return this.#write<'deleted' | 'missing'>({
      execute: async (run) => {
        const count = await this.#change(run, deleteStatement, { tenant, path }, answer);
        return count === 1 ? 'deleted' : 'missing';
      },
    });
  }

  rename(from: MemoryPath, to: MemoryPath, answer: MemoryResult): Promise<Renamed> {
    const { tenant } = this.#context;
    const ancestors = ancestorsOf(to);
    const intoItself = from === to || isBelow(to, from);
    return this.#write<Renamed>({
      execute: async (run) => {
        if (intoItself) return undefined;
        const count = await this.#change(run, renameStatement, { tenant, from, to, ancestors }, answer);
        return count > 0 ? { kind: 'renamed' } : undefined;
      },
      explain: (run) => whyNotRenamed(run, { tenant, from, to, ancestors, intoItself }),
    });
  }

  async settleFailure(answer: MemoryResult): Promise<MemoryResult> {
    const { tenant, request } = this.#context;
    // What failed before it came to the store fails again in the same way.
    if (request === undefined || !this.#tried) return answer;
    await this.#write({
      execute: async (run) => {
        await rememberFailure(run, tenant, request, answer);
        return true;
      },
    });
    return answer;
  }

  #write<T>(write: Write<T>): Promise<T> {
    const { tenant, request, writer } = this.#context;
    this.#tried = true;
    return writer.write(tenant, write, request);
  }

  /** Runs a statement that changes memory, with the receipt where there is a key; how many rows it counts. */
  async #change<Params extends Record<string, Value>>(
    run: Run,
    { plain, keyed }: { plain: Statement<Params, never>; keyed: Statement<Params & Receipt, never> },
    params: Params,
    answer: MemoryResult,
  ): Promise<number> {
    const { request } = this.#context;
    const { count } =
      request === undefined
        ? await run(plain, params)
        : await run(keyed, { ...params, ...receiptOf(request, answer) });
    return count;
  }
}

function entriesOf({ entries }: LookedRow): ListedEntry[] {
  if (entries === null) return [];
  return entries.split('\n').map((line) => {
    const [path, bytes] = line.split('\t');
    return {
      path: path as MemoryPath,
      kind: bytes === undefined ? 'dir' : 'file',
      bytes: Number(bytes ?? 0),
    };
  });
}

/** A guess, by the extension, that costs a directory called so one more statement. */
function isNamedLikeFile(path: MemoryPath): boolean {
  return path.lastIndexOf('.') > path.lastIndexOf('/');
}
