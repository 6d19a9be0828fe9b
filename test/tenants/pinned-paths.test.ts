import { expect, it } from 'vitest';
import { pinnedPathsSchema, splitPaths } from '../../src/core/tenants/pinned-paths.ts';

const schema = pinnedPathsSchema({ maxPaths: 3 });
const rule = 'must have at most 3 paths, separated by commas, such as /memories/user.md,/memories/team';

it('converts each path to its canonical form, once', () => {
  expect(schema.parse(' /memories/team/ ,/memories//user.md,/memories/team,')).toBe(
    '/memories/team,/memories/user.md',
  );
  expect(schema.parse('')).toBe('');
  expect(splitPaths('')).toStrictEqual([]);
  expect(splitPaths('/memories/team,/memories/user.md')).toStrictEqual([
    '/memories/team',
    '/memories/user.md',
  ]);
});

it.each([
  '/memories',
  '/etc/passwd',
  '/memories/../etc',
  'user.md',
  '/memories/a,/memories/b,/memories/c,/memories/d',
])('rejects %s', (value) => {
  const { error } = schema.safeParse(value);
  expect(error?.issues.map(({ message }) => message)).toStrictEqual([rule]);
});
