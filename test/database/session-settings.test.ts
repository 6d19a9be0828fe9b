/** Settings for the sessions on a server, independent of `DATABASE_URL`. */
import { expect, it } from 'vitest';
import { loadConfig } from '../../src/core/config.ts';
import type { Database } from '../../src/core/database/database.ts';
import { openDatabase } from '../../src/core/database/open-database.ts';
import { numberedQuery } from '../support/numbered-query.ts';
import { createTestDatabase, isCitus } from '../support/test-database.ts';

async function settings(database: Database, expected: Record<string, string>) {
  const { statement, params } = numberedQuery<{ name: string; setting: string }>(
    'SELECT name, current_setting(name) AS setting FROM unnest($1::text[]) AS names (name)',
    [Object.keys(expected)],
  );
  const { rows } = await database.query(statement, params);
  return Object.fromEntries(rows.map(({ name, setting }) => [name, setting]));
}

it("applies the service's settings and the URL's other options to a database session", async () => {
  const own = await createTestDatabase();
  const options = [
    '-c statement_timeout=0 -clock_timeout=0 --idle-in-transaction-session-timeout=0',
    '-c plan_cache_mode=auto -c enable_seqscan=on -c jit=on',
    '-c work_mem=5MB -c search_path=public',
  ].join(' ');
  const parameters = new URLSearchParams({
    options,
    connectionTimeoutMillis: '1',
    application_name: 'staging',
  });
  const database = await openDatabase(
    loadConfig({
      DATABASE_URL: `${own.url}?${parameters}`,
      DB_STATEMENT_TIMEOUT_MS: '61000',
      DB_LOCK_TIMEOUT_MS: '62000',
      DB_IDLE_IN_TRANSACTION_TIMEOUT_MS: '63000',
    }),
  );
  try {
    const expected = {
      statement_timeout: '61s',
      lock_timeout: '62s',
      idle_in_transaction_session_timeout: '63s',
      plan_cache_mode: isCitus() ? 'force_custom_plan' : 'force_generic_plan',
      enable_seqscan: 'off',
      jit: 'off',
      work_mem: '5MB',
      search_path: 'public',
      application_name: 'staging',
    };
    expect(await settings(database, expected)).toStrictEqual(expected);
  } finally {
    await database.close();
    await own.drop();
  }
});

it('names its database sessions memory-service if the URL has no application_name', async () => {
  const own = await createTestDatabase();
  const database = await openDatabase(loadConfig({ DATABASE_URL: own.url }));
  try {
    const expected = { application_name: 'memory-service' };
    expect(await settings(database, expected)).toStrictEqual(expected);
  } finally {
    await database.close();
    await own.drop();
  }
});
