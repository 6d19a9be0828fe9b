import { expect, it } from 'vitest';
import { definedQueries } from '../../src/postgres/query.ts';
import { statements } from '../support/statements.ts';

it('every statement has a name of its own, which Postgres does not cut at 63 characters', () => {
  const names = definedQueries.map(({ name }) => name);
  expect(names.length).toBeGreaterThan(statements.length);
  expect(statements.length).toBeGreaterThan(90);
  expect(names.filter((name) => name === '' || name.length > 63)).toStrictEqual([]);
  expect(names.filter((name, i) => names.indexOf(name) !== i)).toStrictEqual([]);
});
