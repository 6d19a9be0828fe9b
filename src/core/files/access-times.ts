import type { Database } from '../database/database.ts';
import { defineQuery } from '../database/query.ts';
import { WriteBehindBuffer } from '../lib/write-behind-buffer.ts';
import { LOCK_TENANT } from '../tenants/queries.ts';
import type { WriteQueue } from './write-queue.ts';

/**
 * Maximum number of buffered accesses. Further accesses are dropped, and the next time such a file is read, this access
 * is recorded instead.
 */
const MAX_GATHERED = 50_000;

interface Access {
  tenant: string;
  path: string;
}

/**
 * Whether a file's access time is old enough to be updated, by the database's clock. A file is updated at most once a
 * day.
 */
export const STALE = "accessed_at < now() - interval '24 hours'";

/** Updates access times that are not recent. */
export const touchQuery = defineQuery<{ tenant: string; paths: string[] }>(
  'touch',
  `
WITH tenant AS MATERIALIZED (${LOCK_TENANT})
UPDATE entries AS e SET accessed_at = now() FROM tenant
WHERE e.tenant_id = $tenant AND e.path = ANY ($paths::text[]) AND e.kind = 'file' AND ${STALE}
`,
);

const findStaleQuery = defineQuery<{ tenant: string; paths: string[] }, { path: string }>(
  'find_stale_files',
  `SELECT path FROM entries WHERE tenant_id = $tenant AND path = ANY ($paths::text[]) AND kind = 'file' AND ${STALE}`,
);

/** Records the day when files were last read, in batches in the background. */
export class AccessTimes {
  readonly #database: Database;
  readonly #writes: WriteQueue;
  readonly #notes = new WriteBehindBuffer<Access>((accesses) => this.#write(accesses), MAX_GATHERED);

  constructor(database: Database, writes: WriteQueue) {
    this.#database = database;
    this.#writes = writes;
  }

  /** Records that a file was read, if its access time may be old. */
  note(tenant: string, path: string): void {
    // Unambiguous, because a tenant ID contains no slash and a path starts with one.
    this.#notes.add(tenant + path, { tenant, path });
  }

  /** Writes the buffered accesses. */
  close(): Promise<void> {
    return this.#notes.flush();
  }

  async #write(accesses: Access[]): Promise<void> {
    const pathsByTenant = new Map<string, string[]>();
    for (const { tenant, path } of accesses) {
      const paths = pathsByTenant.get(tenant);
      if (paths) paths.push(path);
      else pathsByTenant.set(tenant, [path]);
    }
    for (const [tenant, paths] of pathsByTenant) {
      try {
        const { rows } = await this.#database.query(findStaleQuery, { tenant, paths });
        if (rows.length === 0) continue;
        const stale = { tenant, paths: rows.map(({ path }) => path) };
        await this.#writes.runExclusively(tenant, () => this.#database.query(touchQuery, stale));
      } catch {
        // Ignored, because the next time these files are read, their accesses are recorded again.
      }
    }
  }
}
