import { expect, it } from 'vitest';
import {
  asDatabaseError,
  CHECK_VIOLATION,
  FOREIGN_KEY_VIOLATION,
} from '../../src/core/database/database-errors.ts';
import { describeService, freshTenant } from '../support/test-service.ts';

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

const rootEntry = (path: string) => ({ path, parent_path: '/memories' });
/** Returns `/memories/a/…/a` with the given number of names. */
const deepPath = (names: number) => `/memories${'/a'.repeat(names - 1)}`;

/** The constraints are a safety net against rows that no service statement writes. */
describeService('a row in entries', (service) => {
  const insert = (row: Row) =>
    service().query(
      `WITH tenant AS (INSERT INTO tenants (id) VALUES ($1::text))
       INSERT INTO entries (tenant_id, path, parent_path, kind, content, version, memory_id, operation, changed_at)
       VALUES ($1::text, $2::text, $3::text, $4::text, $5::text, $6::text::uuid, $6::text::uuid, 'created', now())`,
      [freshTenant(), row.path, row.parent_path, row.kind, row.content, row.version],
    );
  /** Returns the SQLSTATE, or undefined if only the parent is missing. */
  const rejectionMessage = async (row: Row) => {
    const state = await insert(row).then(
      () => undefined,
      (error) => asDatabaseError(error).sqlState,
    );
    return state === FOREIGN_KEY_VIOLATION ? undefined : state;
  };

  it.each<[string, Row]>([
    ['the root', { ...dir, path: '/memories', parent_path: null }],
    ['a directory', { ...dir, ...rootEntry('/memories/a') }],
    ['a file', { ...file, ...rootEntry('/memories/a.md') }],
    ['an empty file', { ...file, ...rootEntry('/memories/a.md'), content: '' }],
    ['a name with multibyte characters', { ...file, ...rootEntry('/memories/été 文.md') }],
    ['a name with a line break', { ...file, ...rootEntry('/memories/a\nb') }],
    ['a path of 1,024 bytes', { ...file, ...rootEntry(`/memories/${LONG}`) }],
    ['a path of 21 names', { ...file, path: deepPath(21), parent_path: deepPath(20) }],
  ])('accepts %s as a row in `entries`', async (_what, row) => {
    expect(await rejectionMessage(row)).toBeUndefined();
  });

  it.each<[string, Row]>([
    ['of an unknown kind', { ...file, ...rootEntry('/memories/a'), kind: 'link' }],
    ['a file without content', { ...file, ...rootEntry('/memories/a'), content: null }],
    ['a file without version', { ...file, ...rootEntry('/memories/a'), version: null }],
    ['a directory with content', { ...file, ...rootEntry('/memories/a'), kind: 'dir' }],
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
    ['below a directory whose name is only a prefix', { ...file, ...rootEntry('/memoriesa') }],
    ['without a name', { ...file, ...rootEntry('/memories/') }],
    ['with a path of 1,025 bytes', { ...file, ...rootEntry(`/memories/${LONG}x`) }],
    [
      'with a path of 1,025 bytes but fewer characters',
      { ...file, ...rootEntry(`/memories/${LONG.slice(1)}é`) },
    ],
    ['of 22 names', { ...file, path: deepPath(22), parent_path: deepPath(21) }],
  ])('rejects a row in `entries`: %s', async (_what, row) => {
    expect(await rejectionMessage(row)).toBe(CHECK_VIOLATION);
  });
});
