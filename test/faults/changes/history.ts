import type { PostgresServer } from '../../support/faults/postgres-server.ts';
import type { Row } from '../fault-report.ts';
import type { Reader } from './reader.ts';
import type { Write } from './writers.ts';

/** A change in the database. */
export interface Change {
  /** As in `Reader.seen`. */
  key: string;
  tenant: string;
  /** The event's type. `created` for a restored file too. */
  type: string;
  at: string;
  /** Tool call ID, for a change by an agent. */
  toolUse: string | null;
  /** Draft ID, for a draft's event. */
  draft: string | null;
}

/** All changes in the database, in order within each tenant. */
export class RecordedHistory {
  readonly changes: readonly Change[];
  readonly #byTenant: Map<string, Change[]>;

  private constructor(changes: readonly Change[]) {
    this.changes = changes;
    this.#byTenant = Map.groupBy(changes, ({ tenant }) => tenant);
  }

  static async read(postgres: PostgresServer, database: string): Promise<RecordedHistory> {
    const rows = await postgres.query(
      `SELECT * FROM (
         SELECT 'version ' || id AS key, tenant_id AS tenant, operation AS type, created_at AS at, id,
           origin ->> 'toolUseId' AS "toolUse", NULL AS draft FROM memory_versions
         UNION ALL
         SELECT 'redaction ' || id, tenant_id, 'redacted', redacted_at, id, NULL, NULL FROM memory_versions
         WHERE redacted_at IS NOT NULL
         UNION ALL
         SELECT type || ' ' || COALESCE(
             details #>> '{draft,id}', to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
           ), tenant_id, type, at, id, NULL, details #>> '{draft,id}' FROM tenant_events
       ) AS changes
       WHERE NOT starts_with(tenant, 'draft_') ORDER BY at, id`,
      [],
      database,
    );
    return new RecordedHistory(rows as Change[]);
  }

  /** Whether a reader has seen each tenant's last change among those that it reads. */
  isReadBy(reader: Reader): boolean {
    return [...this.#byTenant].every(([tenant, own]) => {
      if (!reader.reads(tenant)) return true;
      return reader.seen.get(tenant)?.at(-1) === own.findLast((change) => reader.wants(change))?.key;
    });
  }

  /** Checks that each acknowledged write made one change, with one time for all its files. */
  checkWrites(writes: ReadonlyMap<string, Write>, row: Row): void {
    const times = new Map<string | null, Set<string>>();
    for (const { toolUse, at } of this.changes)
      times.set(toolUse, (times.get(toolUse) ?? new Set()).add(String(Number(new Date(at)))));
    for (const [id, { acknowledged, changesFile }] of writes) {
      const found = times.get(id)?.size ?? 0;
      if (found > 1) row.doubled.push(`the write ${id}, ${found} times`);
      if (found === 0 && changesFile && acknowledged < Infinity) row.lost.push(`the write ${id}`);
    }
  }

  /** Checks that a reader has seen each change to its tenants after its start once and in order. */
  checkReader(reader: Reader, writes: ReadonlyMap<string, Write>, row: Row): void {
    for (const [tenant, own] of this.#byTenant) {
      if (!reader.reads(tenant)) continue;
      const all = own.filter((change) => reader.wants(change));
      const seen = reader.seen.get(tenant) ?? [];
      const first = reader.start === undefined ? 0 : firstSeen(all, seen);
      const expected = all.slice(first).map(({ key }) => key);
      compare(`${reader.name}, ${tenant}`, seen, expected, row);
      if (reader.start !== undefined) checkStart(reader, reader.start, { all, first, writes, row });
    }
  }
}

/** Returns the first seen change's index, or the number of changes if none was seen. */
function firstSeen(all: readonly Change[], [first]: readonly string[]): number {
  const index = all.findIndex(({ key }) => key === first);
  return index === -1 ? all.length : index;
}

function compare(where: string, seen: readonly string[], expected: readonly string[], row: Row): void {
  if (seen.every((key, i) => key === expected[i])) {
    row.expect(seen.length === expected.length, `${where}: ${expected.length - seen.length} events behind`);
    return;
  }
  const [found, wanted] = [new Set(seen), new Set(expected)];
  for (const key of wanted) if (!found.has(key)) row.lost.push(`${where}: ${key}`);
  for (const key of found) if (!wanted.has(key)) row.wrong.push(`${where}: ${key} is not in the history`);
  if (seen.length > found.size) row.doubled.push(`${where}: ${seen.length - found.size} events`);
  const known = expected.filter((key) => found.has(key));
  const place = [...found].filter((key) => wanted.has(key)).findIndex((key, i) => key !== known[i]);
  if (place !== -1) row.wrong.push(`${where}: out of order from ${known[place]}`);
}

/** Checks that a reader that began now sees no earlier write, and each later write. */
function checkStart(
  { name }: Reader,
  { requested, received }: { requested: number; received: number },
  {
    all,
    first,
    writes,
    row,
  }: { all: readonly Change[]; first: number; writes: ReadonlyMap<string, Write>; row: Row },
): void {
  for (const [i, { toolUse, key }] of all.entries()) {
    const write = writes.get(toolUse ?? '');
    if (write === undefined) continue;
    if (i < first && write.sent > received) row.lost.push(`${name}: ${key}, after the start`);
    if (i >= first && write.acknowledged < requested)
      row.wrong.push(`${name}: ${key} was made before the start`);
  }
}
