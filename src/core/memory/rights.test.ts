import { expect, it } from 'vitest';
import type { MemoryPath } from './path.ts';
import {
  accessTo,
  limitWithin,
  mountsWithin,
  type PathAccess,
  type Rights,
  rightsInMount,
  rightsSchema,
  shownParams,
  shownWithin,
  writableDirectories,
} from './rights.ts';

const toRights = (given: Record<string, PathAccess>): Rights =>
  Object.entries(given).map(([path, access]) => ({ path: path as MemoryPath, access }));
const at = (path: string) => path as MemoryPath;

const rights = toRights({
  '/memories/team': 'read_only',
  '/memories/team/me': 'read_write',
  '/memories/team/me/secret': 'none',
  '/memories/hidden': 'none',
  '/memories/hidden/shown': 'read_only',
});

it('applies the longest path to a file', () => {
  const paths = ['/memories/x', '/memories/team', '/memories/team/me/f', '/memories/teammate'];
  expect(paths.map((path) => accessTo(rights, path))).toStrictEqual([
    'read_write',
    'read_only',
    'read_write',
    'read_write',
  ]);
});

it('finds the right that prevents a change to a directory', () => {
  const paths = ['/memories/x', '/memories/team', '/memories/team/me', '/memories/team/me/f', '/memories'];
  expect(paths.map((path) => limitWithin(rights, at(path))?.path)).toStrictEqual([
    undefined,
    '/memories/team',
    '/memories/team/me/secret',
    undefined,
    '/memories/team',
  ]);
});

it('tells which directories are shown in part', () => {
  const paths = [
    '/memories',
    '/memories/team',
    '/memories/hidden',
    '/memories/hidden/shown/f',
    '/memories/hidden/f',
  ];
  expect(paths.map((path) => shownWithin(rights, path))).toStrictEqual([
    'some',
    'some',
    'some',
    'all',
    'none',
  ]);
  expect(shownParams(rights)).toStrictEqual({
    shown: ['/memories/team', '/memories/team/me', '/memories/hidden/shown'],
    hidden: ['/memories/team/me/secret', '/memories/hidden'],
    mixed: ['/memories', '/memories/team', '/memories/team/me', '/memories/hidden'],
  });
});

it('translates rights to the paths of a mounted memory', () => {
  expect(rightsInMount(rights, { name: 'team' })).toStrictEqual(
    toRights({ '/memories': 'read_only', '/memories/me': 'read_write', '/memories/me/secret': 'none' }),
  );
  expect(rightsInMount(rights, { name: 'other' })).toStrictEqual([]);
});

it('limits rights in a mount to its prefix', () => {
  expect(rightsInMount(undefined, { name: 'team' })).toBeUndefined();
  expect(rightsInMount(undefined, { name: 'team', prefix: at('/memories/me') })).toStrictEqual(
    toRights({ '/memories': 'none', '/memories/me': 'read_write' }),
  );
  expect(rightsInMount(rights, { name: 'team', prefix: at('/memories/me/a') })).toStrictEqual(
    toRights({
      '/memories': 'none',
      '/memories/me': 'none',
      '/memories/me/a': 'read_write',
      '/memories/me/secret': 'none',
    }),
  );
});

it('gives each path in a mount the weaker access of the rights and the prefix', () => {
  const levels: PathAccess[] = ['none', 'read_only', 'propose', 'read_write'];
  const inner = ['', '/a', '/a/b', '/a/b/c', '/ab', '/z'].map((path) => `/memories${path}`);
  const outer = inner.map((path) => path.replace('/memories', '/memories/team'));
  const single = outer.flatMap((path) => levels.map((access) => ({ [path]: access })));
  for (const prefix of inner.slice(1))
    for (const one of single)
      for (const other of single) {
        const own = toRights({ ...one, ...other });
        const found = rightsInMount(own, { name: 'team', prefix: at(prefix) }) ?? [];
        const expected = inner.map((path, i) =>
          path === prefix || path.startsWith(`${prefix}/`) ? accessTo(own, outer[i] ?? '') : 'none',
        );
        expect(inner.map((path) => accessTo(found, path))).toStrictEqual(expected);
      }
});

it('leaves out hidden mounts and makes mounts without a writable path read-only', () => {
  const mount = { tenant: 't', access: 'read_write', instructions: '' } as const;
  const names = ['team', 'gone', 'wiki', 'own'].map((name) => ({ ...mount, name }));
  const given = [...rights, ...toRights({ '/memories/gone': 'none', '/memories/wiki': 'read_only' })];
  expect(mountsWithin(given, names, false).map(({ name, access }) => [name, access])).toStrictEqual([
    ['team', 'read_write'],
    ['wiki', 'read_only'],
    ['own', 'read_write'],
  ]);
  const prefixes = ['/memories/me/secret', '/memories/me', '/memories/x'].map((prefix) => ({
    ...{ ...mount, name: 'team', prefix: at(prefix) },
  }));
  expect(mountsWithin(given, prefixes, false).map(({ prefix, access }) => [prefix, access])).toStrictEqual([
    ['/memories/me', 'read_write'],
    ['/memories/x', 'read_only'],
  ]);
});

it('names the topmost writable directories', () => {
  const given = toRights({
    '/memories': 'none',
    '/memories/a': 'read_write',
    '/memories/a/b': 'propose',
    '/memories/c': 'read_only',
    '/memories/c/d': 'propose',
  });
  expect(writableDirectories(given)).toStrictEqual(['/memories/a', '/memories/c/d']);
  expect(writableDirectories(rights)).toStrictEqual(['/memories/team/me']);
});

it('rejects repeated, invalid, and too many paths', () => {
  const parse = (paths: string[]) =>
    rightsSchema.safeParse(paths.map((path) => ({ path, access: 'none' }))).success;
  expect(parse(['/memories/b', '/memories/a/'])).toBe(true);
  expect(parse(['/memories/a', '/memories/a/'])).toBe(false);
  expect(parse(['/etc'])).toBe(false);
  expect(parse(Array.from({ length: 33 }, (_, i) => `/memories/${i}`))).toBe(false);
});
