import { expect, it } from 'vitest';
import { DatabaseError } from '../../src/postgres/errors.ts';

const errorOf = (code: string, message: string) =>
  new DatabaseError(Object.assign(new Error(message), { code }));

it('says to try again when Citus moved the shard', () => {
  const error = errorOf('XX000', 'could not find valid entry for shard 102107');
  expect(error).toMatchObject({ status: 503, code: 'database_busy', outcomeUnknown: false });
  expect(error.retryAfter).toBeGreaterThan(0);
});

it('says to try again when the server of Citus stops', () => {
  const error = errorOf('XX000', 'postmaster was shut down, exiting');
  expect(error).toMatchObject({ status: 503, code: 'database_unavailable', outcomeUnknown: true });
  expect(error.retryAfter).toBeGreaterThan(0);
});

it('leaves other internal errors of the server as they are', () => {
  expect(errorOf('XX000', 'unexpected data beyond EOF')).toMatchObject({
    status: 500,
    code: 'internal_error',
  });
});
