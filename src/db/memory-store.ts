import { randomUUID } from 'node:crypto';
import { ServiceError } from '../errors.ts';
import { ancestorsOf, isBelow, MAX_DEPTH, MAX_PATH_BYTES, type MemoryPath, ROOT } from '../memory/path.ts';
import type { Created, Edit, Edited, Looked, MemoryStore, OverQuota, Renamed } from '../memory/store.ts';
import { AccessTimes, accessedBefore } from './access-times.ts';
import type { Database } from './database.ts';
import {
  createFileAndTenantStatement,
  createFileStatement,
  deleteStatement,
  explainCreateStatement,
  explainRenameStatement,
  explainWriteStatement,
  lookStatement,
  readFileStatement,
  renameStatement,
  type UsageRow,
  writeFileStatement,
} from './statements/memory.ts';
import { Writer } from './writer.ts';

/** What a tenant may use when nothing else is said for it; 0 means no limit. */
export interface Quotas {
  maxFiles: number;
  maxBytes: number;
}

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
   * One tenant's memory. `tenant` has to be a valid tenant id; with `autoCreate` its first file makes the tenant.
   */
  forTenant(tenant: string, { autoCreate }: { autoCreate: boolean }): MemoryStore {
    return new TenantMemory({
      tenant,
      autoCreate,
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
  quotas: Quotas;
  writer: Writer;
  accessTimes: AccessTimes;
}

class TenantMemory implements MemoryStore {
  readonly #context: TenantContext;

  constructor(context: TenantContext) {
    this.#context = context;
  }

  async look(path: MemoryPath, maxEntries: number): Promise<Looked> {
    const { tenant, writer, accessTimes } = this.#context;
    const { rows } = await writer.read(lookStatement, {
      tenant,
      path,
      limit: maxEntries,
      accessedBefore: accessedBefore(),
    });
    const self = rows.find((row) => row.path === path);
    if (self === undefined) {
      return path === ROOT ? { kind: 'dir', entries: [], total: 0 } : { kind: 'missing' };
    }
    if (self.kind === 'file') {
      if (self.stale) accessTimes.note(tenant, path);
      return { kind: 'file', content: self.content ?? '' };
    }
    const listed = rows.filter((row) => row !== self);
    return {
      kind: 'dir',
      entries: listed.map((row) => ({ path: row.path as MemoryPath, kind: row.kind, bytes: row.bytes ?? 0 })),
      total: listed[0]?.total ?? 0,
    };
  }

  create(path: MemoryPath, content: string): Promise<Created> {
    const { tenant, autoCreate, quotas, writer } = this.#context;
    const ancestors = ancestorsOf(path);
    const statement = autoCreate ? createFileAndTenantStatement : createFileStatement;
    return writer.write<Created>(tenant, {
      execute: async (run) => {
        const version = randomUUID();
        const { count } = await run(statement, { tenant, path, ancestors, content, version, ...quotas });
        return count === 1 ? { kind: 'created' } : undefined;
      },
      explain: async (run) => {
        const { rows } = await run(explainCreateStatement, {
          tenant,
          paths: [path, ...ancestors],
          ...quotas,
        });
        const kinds = new Map(rows.map((row) => [row.path, row.kind]));
        if (kinds.has(path)) return { kind: 'exists' };
        const file = fileAmong(ancestors, kinds);
        if (file) return file;
        const usage = rows.find((row) => row.kind === 'tenant');
        if (usage === undefined && !autoCreate) throw unknownTenant(tenant);
        return overQuota(usage ?? { files: 0, bytes: 0, ...quotas }, 1, Buffer.byteLength(content));
      },
    });
  }

  edit(path: MemoryPath, change: (content: string) => Edit | Promise<Edit>): Promise<Edited> {
    const { tenant, quotas, writer } = this.#context;
    return writer.write<Edited>(tenant, {
      execute: async (run) => {
        const file = (await run(readFileStatement, { tenant, path })).rows[0];
        if (file === undefined) return { kind: 'missing' };
        const { content, result } = await change(file.content);
        if (content === undefined) return { kind: 'refused', result };
        const { count } = await run(writeFileStatement, {
          tenant,
          path,
          readVersion: file.version,
          content,
          version: randomUUID(),
          maxBytes: quotas.maxBytes,
        });
        return count === 1 ? { kind: 'edited', result } : undefined;
      },
      explain: async (run) => {
        const found = (await run(explainWriteStatement, { tenant, path, ...quotas })).rows[0];
        if (found === undefined) return { kind: 'missing' };
        const { content, result } = await change(found.content);
        if (content === undefined) return { kind: 'refused', result };
        return overQuota(found, 0, Buffer.byteLength(content) - Buffer.byteLength(found.content));
      },
    });
  }

  delete(path: MemoryPath): Promise<'deleted' | 'missing'> {
    const { tenant, writer } = this.#context;
    return writer.write<'deleted' | 'missing'>(tenant, {
      execute: async (run) => {
        const { count } = await run(deleteStatement, { tenant, path });
        return count === 1 ? 'deleted' : 'missing';
      },
    });
  }

  rename(from: MemoryPath, to: MemoryPath): Promise<Renamed> {
    const { tenant, writer } = this.#context;
    const ancestors = ancestorsOf(to);
    const intoItself = from === to || isBelow(to, from);
    return writer.write<Renamed>(tenant, {
      execute: async (run) => {
        if (intoItself) return undefined;
        const { count } = await run(renameStatement, { tenant, from, to, ancestors });
        return count > 0 ? { kind: 'renamed' } : undefined;
      },
      explain: async (run) => {
        const { rows } = await run(explainRenameStatement, {
          tenant,
          from,
          to,
          paths: [from, to, ...ancestors],
          maxBytes: MAX_PATH_BYTES,
          maxDepth: MAX_DEPTH,
        });
        const tooLong = rows.find(({ kind }) => kind === 'too_long');
        const kinds = new Map(rows.filter((row) => row !== tooLong).map(({ path, kind }) => [path, kind]));
        if (kinds.has(to)) return { kind: 'destination_exists' };
        if (!kinds.has(from)) return { kind: 'source_missing' };
        if (intoItself) return { kind: 'inside_itself' };
        return fileAmong(ancestors, kinds) ?? (tooLong && { kind: 'too_long', path: tooLong.path });
      },
    });
  }
}

function fileAmong(paths: MemoryPath[], kinds: Map<string, string>) {
  const path = paths.find((each) => kinds.get(each) === 'file');
  return path && ({ kind: 'not_a_directory', path } as const);
}

/** What is exceeded by so many more files and bytes; undefined when there is room. Less than before always has room. */
function overQuota(usage: UsageRow, files: number, bytes: number): OverQuota | undefined {
  const { maxFiles, maxBytes } = usage;
  if (files > 0 && maxFiles > 0 && usage.files + files > maxFiles) {
    return { kind: 'over_quota', of: 'files', used: usage.files, limit: maxFiles, needed: files };
  }
  if (bytes > 0 && maxBytes > 0 && usage.bytes + bytes > maxBytes) {
    return { kind: 'over_quota', of: 'bytes', used: usage.bytes, limit: maxBytes, needed: bytes };
  }
  return undefined;
}

/** The tenant is not there, and nothing here makes it. */
export function unknownTenant(tenant: string): ServiceError {
  return new ServiceError(
    403,
    'unknown_tenant',
    `There is no tenant ${tenant}. Create it with: memory-service tenants create ${tenant}`,
  );
}
