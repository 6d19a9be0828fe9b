import { expect, it } from 'vitest';
import { statements } from '../../../test/support/statements.ts';
import { definedQueries, parameterValues, parseQuery } from './query.ts';

it('gives every statement a unique name with at most 63 characters, the maximum in Postgres', () => {
  const names = definedQueries.map(({ name }) => name);
  expect(names.length).toBeGreaterThan(statements.length);
  expect(statements.length).toBeGreaterThan(90);
  expect(names.filter((name) => name === '' || name.length > 63)).toStrictEqual([]);
  expect(names.filter((name, i) => names.indexOf(name) !== i)).toStrictEqual([]);
});

it('declares every statement once', () => {
  const texts = definedQueries.map(({ sql }) => sql);
  const repeated = definedQueries.filter(({ sql }, i) => texts.indexOf(sql) !== i);
  expect(repeated.map(({ name }) => name)).toStrictEqual([]);
});

it('numbers parameters in the order of the text, but gives the tenant number 1', () => {
  const text = " SELECT $path::text, '$$' WHERE path > $after AND path <> $path AND tenant_id = $tenant ";
  expect(parseQuery('page', text)).toStrictEqual({
    name: 'page',
    sql: "SELECT $2::text, '$$' WHERE path > $3 AND path <> $2 AND tenant_id = $1",
    parameters: ['tenant', 'path', 'after'],
    batch: undefined,
  });
});

it('rejects a statement with numbered parameters', () => {
  expect(() => parseQuery('page', 'SELECT $1 WHERE id = $tenant')).toThrow(
    'Statement page numbers a parameter. Write its name instead.',
  );
});

it('rejects a call without a value for each parameter', () => {
  const query = parseQuery('page', 'SELECT $after WHERE id = $tenant');
  expect(parameterValues(query, { tenant: 'acme', after: null, limit: 1 })).toStrictEqual(['acme', null]);
  expect(() => parameterValues(query, { tenant: 'acme' })).toThrow(
    'Statement page lacks a value for its parameter $after.',
  );
});
