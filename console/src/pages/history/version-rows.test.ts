import { expect, it } from 'vitest';
import type { Version } from '../../api/api-types.ts';
import { versionRows } from './version-rows.ts';

const version = (id: string, request_id: string | null, label = 'one', second = 0) =>
  ({
    id,
    request_id,
    created_at: new Date(Date.UTC(2026, 10, 22, 12, 0, second)).toISOString(),
    actor: { type: 'api_key', id: label, label },
    draft: null,
  }) as Version;

it("groups an actor's changes by request, or by time if they have no request ID", () => {
  const versions = [
    version('a', 'r1'),
    version('b', 'r1'),
    version('c', 'r1', 'two'),
    version('d', 'r2'),
    version('e', null),
    version('f', null),
    version('g', null, 'one', 1),
  ];
  const shownRows = (isOpen: () => boolean) =>
    versionRows(versions, isOpen).flatMap((row) =>
      row.kind === 'day'
        ? []
        : row.kind === 'version'
          ? [row.version.id]
          : [row.versions.map(({ id }) => id).join('+')],
    );
  expect(shownRows(() => false)).toStrictEqual(['a+b', 'c', 'd', 'e+f', 'g']);
  expect(shownRows(() => true)).toStrictEqual(['a+b', 'a', 'b', 'c', 'd', 'e+f', 'e', 'f', 'g']);
  expect(versionRows(versions, null).map(({ kind }) => kind)).toStrictEqual([
    'day',
    ...versions.map(() => 'version'),
  ]);
});
