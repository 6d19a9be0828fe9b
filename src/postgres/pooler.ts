import { randomUUID } from 'node:crypto';
import type pg from 'pg';

/*
 * A pooler between the service and Postgres, such as PgBouncer. It takes no settings from a connection that starts, and in transaction mode
 * a connection may get another session for each transaction. See docs/operations.md#pgbouncer.
 */

/** Whether a pooler is in between: the process that works is not the one that the connection was told of. */
export async function usesPooler(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query('SELECT pg_backend_pid() AS pid');
  // Not in pg's types.
  const { processID } = client as pg.Client & { processID: number };
  return rows[0]?.pid !== processID;
}

/**
 * Says why the service cannot work through a pooler, and what to do; undefined when it can.
 *
 * @param one and `other` are connections through the pooler
 * @param settings what each session needs
 */
export async function describeUnfitPooler(
  one: pg.Client,
  other: pg.Client,
  settings: Record<string, string>,
): Promise<string | undefined> {
  if (await losesStatements(one, other)) {
    return 'it is behind a pooler in transaction mode that does not keep track of prepared statements; use PgBouncer 1.21 or newer with max_prepared_statements, or session mode';
  }
  const commands = await missingSettings(one, settings);
  if (commands.length === 0) return undefined;
  return `it is behind a pooler, through which the service cannot give its sessions their settings; run this as the same user, and RECONNECT in PgBouncer: ${commands.join(' ')}`;
}

/** In an otherwise idle pool the first attempt tells. */
const ATTEMPTS = 10;

/** Whether statements that one connection prepares stay behind for another one. Poolers that keep track of them give them names of their own. */
async function losesStatements(one: pg.Client, other: pg.Client): Promise<boolean> {
  const name = `probe_${randomUUID()}`;
  const isPreparedOn = async (client: pg.Client) =>
    (await client.query('SELECT FROM pg_prepared_statements WHERE name = $1', [name])).rowCount === 1;
  await one.query('BEGIN');
  await one.query({ name, text: 'SELECT 1' });
  const keepsNames = await isPreparedOn(one);
  await one.query('COMMIT');
  if (!keepsNames) return false;
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    if ((await isPreparedOn(other)) || !(await isPreparedOn(one))) return true;
  }
  return false;
}

/** Returns the commands that give the sessions of this role the settings that they lack. */
async function missingSettings(client: pg.Client, settings: Record<string, string>): Promise<string[]> {
  const { rows } = await client.query<{ command: string }>(
    `SELECT format('ALTER ROLE CURRENT_USER IN DATABASE %I SET %s = %s;', current_database(), w.name, w.setting) AS command
     FROM unnest($1::text[], $2::text[]) AS w (name, setting) JOIN pg_settings AS s ON s.name = w.name AND s.setting <> w.setting`,
    [Object.keys(settings), Object.values(settings)],
  );
  return rows.map(({ command }) => command);
}
