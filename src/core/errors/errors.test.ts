import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { explain } from '../cli/hints.ts';
import { hasReason, ServiceError } from './errors.ts';

const sources = readdirSync(import.meta.dirname)
  .filter((name) => !/^(catalog|errors)(\.test)?\.ts$/.test(name))
  .map((name) => readFileSync(join(import.meta.dirname, name), 'utf8'));

it.each([
  ['a command of the command line', /memory-service [a-z]/g],
  ['an option of the command line', / --(?!sparse|dereference|hard-dereference)[a-z]/g],
  ['a route', /\/execute|\/v1\//g],
])('excludes %s from every message in the error catalog', (_, forbidden) => {
  expect(sources.length).toBe(7);
  expect(sources.flatMap((source) => source.match(forbidden) ?? [])).toStrictEqual([]);
});

it("adds the command line's hint to an error's message", () => {
  const full = new ServiceError('quota_exceeded', 'acme', 'import', {
    of: 'bytes',
    used: 99,
    limit: 100,
    needed: 20,
  });
  expect(full).toMatchObject({ code: 'over_quota', status: 409, reason: 'quota_exceeded' });
  expect(full.message).toBe('Tenant acme uses 99 of 100 bytes, and the import needs 20 more.');
  expect(explain(full)).toBe(
    'Tenant acme uses 99 of 100 bytes, and the import needs 20 more. Raise the limit with: memory-service tenants set acme --max-bytes 119',
  );
  expect(explain(new ServiceError('archive_empty'))).toBe('The archive is empty.');
});

it('uses the singular in error messages if the number is 1', () => {
  const quota = { of: 'files', used: 1, limit: 1, needed: 1 } as const;
  expect(
    [
      new ServiceError('quota_exceeded', 'acme', 'import', quota),
      new ServiceError('import_too_large', 'acme', 'bytes', 1),
      new ServiceError('rate_limited', 1, 60),
      new ServiceError('file_too_large', '/memories/a', 1),
      new ServiceError('body_too_large', 1, 'tenant'),
      new ServiceError('drafts_too_large', 'acme', 1, 1, 1),
      new ServiceError('rows_without_tenant', 'entries', 1),
      new ServiceError('draft_conflicts', ['/memories/a']),
    ].map(({ message }) => message),
  ).toStrictEqual([
    'Tenant acme uses 1 of 1 file, and the import needs 1 more.',
    'The import has more than the 1 byte that acme may have.',
    'The tenant has used its 1 request per minute. Retry-After says when to try again.',
    '/memories/a would exceed the maximum file size of 1 byte.',
    'The body is larger than 1 byte, the limit of this tenant.',
    'The open drafts of tenant acme use 1 of 1 byte, and this one needs 1 more. Merge or close one first.',
    'Everything else was moved. Left out: 1 row of entries without a tenant.',
    '1 conflict is not resolved: /memories/a. Nothing was changed.',
  ]);
});

it('identifies an error by its reason', () => {
  const error: unknown = new ServiceError('no_such_tenant', 'acme');
  expect(hasReason(error, 'no_such_tenant') && error.values).toStrictEqual(['acme']);
  expect(hasReason(error, 'no_such_key')).toBe(false);
  expect(hasReason(new Error('no_such_tenant'), 'no_such_tenant')).toBe(false);
});
