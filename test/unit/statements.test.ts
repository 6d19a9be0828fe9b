import { expect, it } from 'vitest';
import { writeFunctions } from '../../src/store/write-functions.ts';
import { statements } from '../support/statements.ts';

it('every statement has a name of its own, which Postgres does not cut at 63 characters', () => {
  const queries = [...statements, ...writeFunctions.flatMap(({ single, batch }) => [single, batch])];
  const names = queries.flatMap(({ name, batch }) => (batch === undefined ? [name] : [name, batch.name]));
  expect(names.length).toBeGreaterThan(80);
  expect(names.filter((name) => name === '' || name.length > 63)).toStrictEqual([]);
  expect(names.filter((name, i) => names.indexOf(name) !== i)).toStrictEqual([]);
});
