import { expect, it } from 'vitest';
import type { AuditEvent } from '../../api/api-types.ts';
import { findActions } from './actions.ts';
import { exportAudit } from './audit-export.ts';

const event = (id: number, more: Partial<AuditEvent> = {}): AuditEvent => ({
  id: `00000000-0000-4000-8000-00000000000${id}`,
  at: '2026-11-26T00:00:00.000000Z',
  actor: { type: 'admin_key', id: 'key_1', label: '=HYPERLINK("x")' },
  action: 'updateTenant',
  channel: 'console',
  address: '127.0.0.1',
  request_id: null,
  dry_run: false,
  tenant: '-acme',
  key: null,
  details: { max_files: { old: null, new: 5 } },
  outcome: 'ok',
  ...more,
});

const query = { tenant: '', tenant_contains: '', by_contains: '', action: [], outcome: '', since: '' };

/** Reads pages with two events each. */
const pages = (count: number) => async (_: unknown, after: string | null) => {
  const from = Number(after ?? 0);
  const events = [event(from), event(from + 1)].slice(0, count - from);
  return { events, next: from + 2 < count ? String(from + 2) : null };
};

it('exports all audit pages as CSV, and keeps a spreadsheet from running a cell as a formula', async () => {
  const seen: number[] = [];
  const { file, rows, isCut } = await exportAudit(query, (n) => seen.push(n), new AbortController().signal, {
    load: pages(3),
  });
  expect([rows, isCut, seen]).toStrictEqual([3, false, [2, 3]]);
  const lines = (await file.text()).split('\r\n');
  expect(lines).toHaveLength(5);
  expect(lines[0]).toBe(
    '"time","actor","actor_id","action","operation","dry_run","outcome","tenant","key","channel","address","request_id","details"',
  );
  expect(lines[1]).toBe(
    '"2026-11-26T00:00:00.000000Z","admin key =HYPERLINK(""x"")","key_1","Change a tenant","updateTenant","false","ok","\'-acme","","console","127.0.0.1","","{""max_files"":{""old"":null,""new"":5}}"',
  );
});

it.each([
  [4, 3, true],
  [4, 4, false],
  [5, 4, true],
  [2, 4, false],
])(
  'exports %i events as a CSV with at most %i rows, and reports whether events were left out',
  async (count, maxRows, isCut) => {
    const done = await exportAudit(query, () => {}, new AbortController().signal, {
      load: pages(count),
      maxRows,
    });
    expect([done.rows, done.isCut]).toStrictEqual([Math.min(count, maxRows), isCut]);
  },
);

it('finds operations by a part of their name or description', () => {
  expect(findActions('suspend')).toStrictEqual(['suspendTenant']);
  expect(findActions(' ROTATE A key')).toStrictEqual(['rotateKey']);
  expect(findActions('kept')).toStrictEqual(['removeKeptOut', 'removeKeptOutOfAll']);
  expect(findActions('otherOperation')).toStrictEqual(['otherOperation']);
  expect(findActions('')).toStrictEqual([]);
});
