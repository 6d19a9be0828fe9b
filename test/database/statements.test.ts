/** Rules that every statement of the service follows on every database, checked without a Citus cluster. */
import { describe, expect, it } from 'vitest';
import { DELEGATED_FUNCTIONS } from '../../src/database/citus.ts';
import { writeFunctions } from '../../src/files/write-functions.ts';
import { batchQueries, statements } from '../support/statements.ts';

const all = [
  ...statements,
  ...batchQueries,
  ...writeFunctions.flatMap(({ single, batch }) => [single, batch]),
];
const named = (each: (typeof all)[number]) => [each.name, each] as const;

describe('the arguments of a delegated function', () => {
  const CALL = new RegExp(`\\b(?:${DELEGATED_FUNCTIONS.join('|')})\\(([^;]*)`);
  const calls = all.filter(({ sql }) => CALL.test(sql));

  it('include the arguments of all write functions', () => {
    expect(calls.length).toBeGreaterThanOrEqual(2 * writeFunctions.length);
  });

  it.each(calls.map(named))(
    'has no parameter in %s that is cast to text and then to its type',
    (_, { sql }) => {
      // Citus would send the constant to the node of the tenant as a cstring, which has no casts.
      expect(CALL.exec(sql)?.[1]).not.toMatch(/\$\d+::text::/);
    },
  );
});

describe('the columns of RETURNING', () => {
  const RETURNING = /\bRETURNING\b([^;)]*(?:\([^)]*\)[^;)]*)*)/g;
  const returning = all.filter(({ sql }) => sql.includes('RETURNING'));

  it.each(returning.map(named))(
    'are not computed in %s, because Citus allows only immutable functions there',
    (_, each) => {
      for (const [, columns] of each.sql.matchAll(RETURNING)) {
        expect(columns?.replace(/ AS "?\w+"?/g, '')).toMatch(
          /^\s*(?:\w+\.)?\w+(?:::text)?(?:,\s*(?:\w+\.)?\w+(?:::text)?)*\s*$/,
        );
      }
    },
  );
});
