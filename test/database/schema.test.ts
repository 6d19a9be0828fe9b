import { expect, it } from 'vitest';
import { asDatabaseError, CHECK_VIOLATION, FOREIGN_KEY_VIOLATION } from '../../src/core/database/errors.ts';
import { describeService, freshTenant } from '../support/service.ts';

const LONG = 'x'.repeat(1014);
const version = '00000000-0000-4000-8000-000000000000';
const file = { kind: 'file', content: 'text', version };
const dir = { kind: 'dir', content: null, version: null };

interface Row {
  path: string;
  parent_path: string | null;
  kind: string;
  content: string | null;
  version: string | null;
}

const inRoot = (path: string) => ({ path, parent_path: '/memories' });
/** Returns `/memories/a/…/a` with the given number of names. */
const deep = (names: number) => `/memories${'/a'.repeat(names - 1)}`;

/** The constraints are a safety net against rows that no statement of the service writes. */
describeService('a row in entries', (service) => {
  const insert = (row: Row) =>
    service().query(
      `WITH tenant AS (INSERT INTO tenants (id) VALUES ($1::text))
       INSERT INTO entries (tenant_id, path, parent_path, kind, content, version, memory_id, operation, changed_at)
       VALUES ($1::text, $2::text, $3::text, $4::text, $5::text, $6::text::uuid, $6::text::uuid, 'created', now())`,
      [freshTenant(), row.path, row.parent_path, row.kind, row.content, row.version],
    );
  /** Returns the SQLSTATE, or undefined if only the parent is missing. */
  const rejection = async (row: Row) => {
    const state = await insert(row).then(
      () => undefined,
      (error) => asDatabaseError(error).sqlState,
    );
    return state === FOREIGN_KEY_VIOLATION ? undefined : state;
  };

  it.each<[string, Row]>([
    ['the root', { ...dir, path: '/memories', parent_path: null }],
    ['a directory', { ...dir, ...inRoot('/memories/a') }],
    ['a file', { ...file, ...inRoot('/memories/a.md') }],
    ['an empty file', { ...file, ...inRoot('/memories/a.md'), content: '' }],
    ['a name with multibyte characters', { ...file, ...inRoot('/memories/été 文.md') }],
    ['a name with a line break', { ...file, ...inRoot('/memories/a\nb') }],
    ['a path of 1,024 bytes', { ...file, ...inRoot(`/memories/${LONG}`) }],
    ['a path of 21 names', { ...file, path: deep(21), parent_path: deep(20) }],
  ])('accepts a row in entries that is %s', async (_what, row) => {
    expect(await rejection(row)).toBeUndefined();
  });

  it.each<[string, Row]>([
    ['of an unknown kind', { ...file, ...inRoot('/memories/a'), kind: 'link' }],
    ['a file without content', { ...file, ...inRoot('/memories/a'), content: null }],
    ['a file without version', { ...file, ...inRoot('/memories/a'), version: null }],
    ['a directory with content', { ...file, ...inRoot('/memories/a'), kind: 'dir' }],
    ['a second root', { ...dir, path: '/other', parent_path: null }],
    ['a root that is a file', { ...file, path: '/memories', parent_path: null }],
    ['a root with a parent', { ...dir, path: '/memories', parent_path: '/' }],
    ['its own parent', { ...dir, path: '/memories/a', parent_path: '/memories/a' }],
    [
      'in a different directory than its path says',
      { ...file, path: '/memories/a/b', parent_path: '/memories' },
    ],
    [
      'below a directory with a different name',
      { ...file, path: '/memories/a/b', parent_path: '/memories/c' },
    ],
    ['below a directory whose name is only a prefix', { ...file, ...inRoot('/memoriesa') }],
    ['without a name', { ...file, ...inRoot('/memories/') }],
    ['with a path of 1,025 bytes', { ...file, ...inRoot(`/memories/${LONG}x`) }],
    [
      'with a path of 1,025 bytes but fewer characters',
      { ...file, ...inRoot(`/memories/${LONG.slice(1)}é`) },
    ],
    ['of 22 names', { ...file, path: deep(22), parent_path: deep(21) }],
  ])('rejects a row in entries: %s', async (_what, row) => {
    expect(await rejection(row)).toBe(CHECK_VIOLATION);
  });
});
