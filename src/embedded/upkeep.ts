import type { PGliteInterface } from '@electric-sql/pglite';
import { throwDatabaseError } from '../postgres/errors.ts';

/*
 * What the background processes of a server do, which the embedded database does not have: checkpoints and autovacuum. Without them its
 * log and its tables grow as long as it runs. See docs/decisions/0012-upkeep-of-the-embedded-database.md.
 */

type Client = Pick<PGliteInterface, 'exec' | 'query'>;

/** How much of the write-ahead log Postgres keeps for reuse after a checkpoint. */
export const LOG_SETTINGS = { max_wal_size: '128MB', min_wal_size: '32MB' };

/** A checkpoint writes at most about as much as was logged since the last one, and every request waits for it. */
const CHECKPOINT_AFTER_BYTES = 32 * 1024 * 1024;
/** The largest statements, those of imports, log a few MiB each. */
const STATEMENTS_PER_CHECK = 16;

const LOGGED_BYTES = 'SELECT pg_current_wal_insert_lsn() - redo_lsn AS bytes FROM pg_control_checkpoint()';

/** Returns a function to call before each statement, also in a transaction. It makes a checkpoint when one is due, which frees the log before it. */
export function checkpoints(): (client: Client) => Promise<void> {
  let statements = 0;
  const update = async (client: Client) => {
    statements = (statements + 1) % STATEMENTS_PER_CHECK;
    if (statements !== 0) return;
    const [logged] = (await client.query<{ bytes: string }>(LOGGED_BYTES)).rows;
    if (Number(logged?.bytes) > CHECKPOINT_AFTER_BYTES) await client.exec('CHECKPOINT');
  };
  return (client) => update(client).catch(throwDatabaseError);
}

/** Tables, and those with their large values, whose deleted rows or new rows are more than autovacuum would leave. */
const DUE_TABLES = `
SELECT c.oid::regclass::text AS name FROM pg_stat_all_tables AS s JOIN pg_class AS c ON c.oid = s.relid
WHERE greatest(s.n_dead_tup, s.n_ins_since_vacuum) > 5000 + 0.02 * greatest(c.reltuples, 0)`;

/** Makes the space of deleted rows usable again, table by table, so that requests get their turn in between. */
export async function vacuumTables(client: Client): Promise<void> {
  const { rows } = await client.query<{ name: string }>(DUE_TABLES).catch(throwDatabaseError);
  for (const { name } of rows)
    await client.exec(`VACUUM (PROCESS_TOAST false) ${name}`).catch(throwDatabaseError);
}
