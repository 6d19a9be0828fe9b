import type { EmbeddedEvents } from '../postgres/database.ts';
import { throwDatabaseError } from '../postgres/errors.ts';
import { freeBytes, RESERVED_BYTES } from './disk-space.ts';
import type { PgliteEngine } from './pglite-engine.ts';

/**
 * Returns a function to call before each transaction. While the disk is nearly full it makes new transactions read-only: Postgres then
 * refuses writes with SQLSTATE 25006, and reads go on.
 */
export function diskGuard(folder: string, client: PgliteEngine, events: EmbeddedEvents): () => Promise<void> {
  let isReadOnly = false;
  const update = async () => {
    // A little more before writes are accepted again, so that the state does not change with every statement.
    const needed = isReadOnly ? 1.25 * RESERVED_BYTES : RESERVED_BYTES;
    const isShort = freeBytes(folder) < needed;
    if (isShort === isReadOnly) return;
    isReadOnly = isShort;
    events.readOnly(isReadOnly);
    await client.exec(`SET default_transaction_read_only = ${isReadOnly}`);
  };
  return () => update().catch(throwDatabaseError);
}
