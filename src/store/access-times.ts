import type { Database } from '../postgres/database.ts';
import { defineQuery } from '../postgres/query.ts';
import { LOCK_TENANT } from '../tenants/queries.ts';
import { WriteBehindBuffer } from '../util/write-behind-buffer.ts';
import type { WriteQueue } from './write-queue.ts';

/** Access times are updated when they are older than this, so a file costs at most one such write a day. */
const RESOLUTION_MS = 24 * 60 * 60 * 1000;
/** Maximum number of buffered accesses. Further ones are dropped; the next access of the file is recorded instead. */
const MAX_GATHERED = 50_000;

interface Access {
  tenant: string;
  path: string;
}

let bound = { madeAt: Number.NEGATIVE_INFINITY, text: '' };

/** The time before which a file's access time counts as old, to the second. */
export function accessedBefore(): string {
  const now = Date.now();
  // Cached, because every view needs it and formatting a time is expensive.
  if (Math.abs(now - bound.madeAt) >= 1000) {
    bound = { madeAt: now, text: new Date(now - RESOLUTION_MS).toISOString() };
  }
  return bound.text;
}

/** Updates the access times of files, unless they are recent. */
export const touchQuery = defineQuery<{
  tenant: string;
  paths: string[];
  now: string;
  accessedBefore: string;
}>(
  'touch',
  ['tenant', 'paths', 'now', 'accessedBefore'],
  `
WITH tenant AS MATERIALIZED (${LOCK_TENANT})
UPDATE entries AS e SET accessed_at = $3::timestamptz FROM tenant
WHERE e.tenant_id = $1 AND e.path = ANY ($2::text[]) AND e.kind = 'file' AND e.accessed_at < $4::timestamptz
`,
);

/** Records in the background, in batches, on which day files were last read. */
export class AccessTimes {
  readonly #database: Database;
  readonly #writes: WriteQueue;
  readonly #notes = new WriteBehindBuffer<Access>((accesses) => this.#write(accesses), MAX_GATHERED);

  constructor(database: Database, writes: WriteQueue) {
    this.#database = database;
    this.#writes = writes;
  }

  /** Records a read of a file whose access time is old. */
  note(tenant: string, path: string): void {
    // A tenant ID has no slash, and a path starts with one.
    this.#notes.add(tenant + path, { tenant, path });
  }

  /** Writes the buffered accesses. */
  close(): Promise<void> {
    return this.#notes.flush();
  }

  async #write(accesses: Access[]): Promise<void> {
    const pathsOf = new Map<string, string[]>();
    for (const { tenant, path } of accesses) {
      const paths = pathsOf.get(tenant);
      if (paths) paths.push(path);
      else pathsOf.set(tenant, [path]);
    }
    const now = new Date().toISOString();
    for (const [tenant, paths] of pathsOf) {
      const params = { tenant, paths, now, accessedBefore: accessedBefore() };
      try {
        await this.#writes.exclusively(tenant, () => this.#database.query(touchQuery, params));
      } catch {
        // Not worth an error: the next read of these files records them again.
      }
    }
  }
}
