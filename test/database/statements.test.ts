/** Rules that every service statement follows on every database, checked without a Citus cluster. */
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DELEGATED_FUNCTIONS } from '../../src/core/database/citus.ts';
import { writeFunctions } from '../../src/core/files/write-functions.ts';
import { resultColumns } from '../support/result-columns.ts';
import { batchQueries, statements } from '../support/statements.ts';
import { connectTo, createTestDatabase } from '../support/test-database.ts';

const all = [
  ...statements,
  ...batchQueries,
  ...writeFunctions.flatMap(({ single, batch }) => [single, batch]),
];
const withName = (each: (typeof all)[number]) => [each.name, each] as const;

describe('the arguments to a delegated function', () => {
  const CALL = new RegExp(`\\b(?:${DELEGATED_FUNCTIONS.join('|')})\\(([^;]*)`);
  const calls = all.filter(({ sql }) => CALL.test(sql));

  it('covers at least two calls for each write function', () => {
    expect(calls.length).toBeGreaterThanOrEqual(2 * writeFunctions.length);
  });

  it.each(calls.map(withName))(
    'casts no parameter in %s first to text and then to its own type',
    (_, { sql }) => {
      // Citus would send the constant to the tenant's node as a cstring, which has no casts.
      expect(CALL.exec(sql)?.[1]).not.toMatch(/\$\d+::text::/);
    },
  );
});

describe('the columns in RETURNING', () => {
  const RETURNING = /\bRETURNING\b([^;)]*(?:\([^)]*\)[^;)]*)*)/g;
  const returning = all.filter(({ sql }) => sql.includes('RETURNING'));

  it.each(returning.map(withName))(
    'returns only plain columns in %s, because Citus allows no other functions there',
    (_, each) => {
      for (const [, columns] of each.sql.matchAll(RETURNING)) {
        expect(columns?.replace(/ AS "?\w+"?/g, '')).toMatch(
          /^\s*(?:\w+\.)?\w+(?:::(?:text|float8))?(?:,\s*(?:\w+\.)?\w+(?:::(?:text|float8))?)*\s*$/,
        );
      }
    },
  );
});

describe('the statements that write on a condition', () => {
  const CONDITIONS = /\b(?:CASE\b.*?\bEND\b|COALESCE\([^)]*\))/gs;
  const conditional = all.filter(
    ({ sql }) => /^\s*(?:UPDATE|INSERT)\b/.test(sql) && !sql.includes('SELECT') && CONDITIONS.test(sql),
  );

  it('covers the statement that records an arrival', () => {
    expect(conditional.map(({ name }) => name)).toContain('note_arrival');
  });

  it.each(conditional.map(withName))(
    'calls only immutable functions in CASE and COALESCE in %s, because Citus rejects others there',
    (_, { sql }) => {
      for (const [condition] of sql.matchAll(CONDITIONS))
        expect(condition).not.toMatch(
          /\b(?:now|clock_timestamp|to_char|to_jsonb?|jsonb?_build_\w+|concat_ws)\(|::text::timestamptz/,
        );
    },
  );
});

it.each(all.map(withName))(
  "formats times in %s explicitly, independent from the session's settings",
  (_, { sql }) => {
    expect(sql.match(/\b(?:\w+_(?:at|since|until)|at|day)::text\b/)).toBeNull();
  },
);

describe('the result columns', () => {
  const { builtins } = pg.types;
  /** Types whose text depends on the session's settings. */
  const FORMATTED = new Map([
    [builtins.TIMESTAMPTZ, 'timestamptz'],
    [builtins.TIMESTAMP, 'timestamp'],
    [builtins.DATE, 'date'],
    [builtins.INTERVAL, 'interval'],
    [builtins.BYTEA, 'bytea'],
    [builtins.MONEY, 'money'],
    [1185, 'timestamptz[]'],
    [1182, 'date[]'],
    [1001, 'bytea[]'],
  ]);
  let own: Awaited<ReturnType<typeof createTestDatabase>>;
  let client: pg.Client;

  beforeAll(async () => {
    own = await createTestDatabase();
    client = await connectTo(own.url);
  });
  afterAll(async () => {
    await client.end();
    await own.drop();
  });

  it.each(all.map(withName))(
    "returns no column in %s whose text depends on the session's settings",
    async (_, { sql }) => {
      const columns = await resultColumns(client, sql);
      expect(columns.filter(({ dataTypeID }) => FORMATTED.has(dataTypeID))).toStrictEqual([]);
    },
  );
});
