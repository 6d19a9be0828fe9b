import { expect, it } from 'vitest';
import { statements } from '../../test/support/statements.ts';
import { definedQueries } from './query.ts';

it('every statement has a name of its own, which Postgres does not cut at 63 characters', () => {
  const names = definedQueries.map(({ name }) => name);
  expect(names.length).toBeGreaterThan(statements.length);
  expect(statements.length).toBeGreaterThan(90);
  expect(names.filter((name) => name === '' || name.length > 63)).toStrictEqual([]);
  expect(names.filter((name, i) => names.indexOf(name) !== i)).toStrictEqual([]);
});
