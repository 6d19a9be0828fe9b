import type { Database } from '../../src/core/database/database.ts';
import { parseQuery } from '../../src/core/database/query.ts';

const COLUMNS = {
  tenants: ['created_at', 'history_since', 'last_change_at'],
  entries: ['created_at', 'updated_at', 'changed_at'],
  versions: ['created_at', 'superseded_at'],
  past_directories: ['created_at', 'removed_at'],
  api_keys: ['created_at'],
};

/** IDs begin with the time at which the change was made. */
const IDS = { entries: ['version', 'changed_at'], versions: ['id', 'created_at'] } as const;

/**
 * Stretches each tenant's history over days, up to an hour ago, and keeps its order. A scenario lasts seconds, which a
 * timeline cannot show well.
 */
export async function spreadHistory(database: Database, days: number): Promise<void> {
  await run(
    database,
    `CREATE TABLE spans AS SELECT id AS tenant_id, last_change_at AS last, now() - interval '1 hour' AS ends,
       extract(epoch FROM last_change_at - created_at)::float8 AS seconds FROM tenants`,
  );
  for (const [table, columns] of Object.entries(COLUMNS)) {
    const id = table === 'tenants' ? 'id' : 'tenant_id';
    const stretched = columns.map(
      (column) => `${column} = s.ends - (s.last - t.${column}) * (${days} * 86400 / s.seconds)`,
    );
    await run(
      database,
      `UPDATE ${table} AS t SET ${stretched.join(', ')} FROM spans AS s WHERE s.tenant_id = t.${id}`,
    );
  }
  for (const [table, [id, column]] of Object.entries(IDS)) {
    await run(
      database,
      `UPDATE ${table} SET ${id} = memory_version_id(memory_id_prefix(${column}), ${id}) WHERE ${id} IS NOT NULL`,
    );
  }
  await run(database, 'DROP TABLE spans');
}

/** Moves one tenant's history into the past. */
export async function ageHistory(database: Database, tenant: string, age: string): Promise<void> {
  for (const [table, columns] of Object.entries(COLUMNS)) {
    const id = table === 'tenants' ? 'id' : 'tenant_id';
    const moved = columns.map((column) => `${column} = ${column} - '${age}'::interval`);
    await run(database, `UPDATE ${table} SET ${moved.join(', ')} WHERE ${id} = '${tenant}'`);
  }
  for (const [table, [id, column]] of Object.entries(IDS)) {
    await run(
      database,
      `UPDATE ${table} SET ${id} = memory_version_id(memory_id_prefix(${column}), ${id})
       WHERE ${id} IS NOT NULL AND tenant_id = '${tenant}'`,
    );
  }
  await run(database, `SELECT memory_bind_root('${tenant}')`);
}

const run = (database: Database, text: string) => database.query(parseQuery(text, text), {});
