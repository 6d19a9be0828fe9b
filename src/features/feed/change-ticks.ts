import type { Database } from '../../core/database/database.ts';
import { defineQuery, type QueryExecutor, time } from '../../core/database/query.ts';
import { ServiceError } from '../../core/errors/errors.ts';

/*
 * Ticks: stored change log snapshots (docs/decisions/0032-change-log.md). A reader pages through the rows that are
 * visible in one tick and not in an earlier one. On Citus, transactions are numbered per node, and a tick has a snapshot
 * for each node.
 */

type NoParams = Record<string, never>;

interface NodeSnapshot {
  node: number;
  /** The server's system identifier. */
  system: string;
  /** A `pg_snapshot`: `xmin:xmax:xip,…` */
  snapshot: string;
}

/** A tick's snapshots, by node. */
export type Snapshots = ReadonlyMap<number, NodeSnapshot>;

const toSnapshots = (rows: readonly NodeSnapshot[]): Snapshots => new Map(rows.map((row) => [row.node, row]));

const SYSTEM_AND_SNAPSHOT = `
SELECT (SELECT system_identifier::text FROM pg_control_system()) AS system, pg_current_snapshot()::text AS snapshot`;

const snapshotQuery = defineQuery<NoParams, NodeSnapshot>(
  'current_snapshot',
  `SELECT 0 AS node, s.system, s.snapshot FROM (${SYSTEM_AND_SNAPSHOT}) AS s`,
);

const nodeSnapshotsQuery = defineQuery<
  NoParams,
  { node: number; success: boolean; system: string; snapshot: string }
>(
  'node_snapshots',
  `
SELECT n.groupid AS node, r.success, split_part(r.result, ' ', 1) AS system, split_part(r.result, ' ', 2) AS snapshot
FROM run_command_on_all_nodes($$ SELECT system || ' ' || snapshot FROM (${SYSTEM_AND_SNAPSHOT}) AS s $$) AS r
JOIN pg_dist_node AS n ON n.nodeid = r.nodeid
`,
);

async function readSnapshots(query: QueryExecutor, kind: Database['kind']): Promise<Snapshots> {
  if (kind !== 'citus') return toSnapshots((await query(snapshotQuery, {})).rows);
  const { rows } = await query(nodeSnapshotsQuery, {});
  if (rows.some(({ success }) => !success)) throw new ServiceError('database_unavailable');
  return toSnapshots(rows);
}

/** Keeps all tenants on their nodes until the transaction ends, like `memory_hold_shard` for one tenant. */
const holdShardsQuery = defineQuery<NoParams>(
  'hold_shards',
  `SELECT lock_shard_metadata(5, array_agg(shardid)) FROM pg_dist_shard WHERE logicalrelid = 'public.tenants'::regclass`,
);

const lockStateQuery = defineQuery<NoParams, { part: number; age: number }>(
  'lock_change_log',
  'SELECT part, extract(epoch FROM clock_timestamp() - since)::float8 * 1000 AS age FROM change_log_state FOR UPDATE',
);

/**
 * Locks the log against other ticks and against `pruneChanges`.
 *
 * @returns the partition that gets new rows, and for how long it has, in milliseconds; undefined while the log is off
 */
export async function lockChangeLog(
  query: QueryExecutor,
): Promise<{ part: number; age: number } | undefined> {
  return (await query(lockStateQuery, {})).rows[0];
}

/** `at` is null for the mark (`isOver`). */
type TickRow = NodeSnapshot & { at: string | null };

const AT = `CASE WHEN isfinite(at) THEN ${time('at')} END AS at`;

const newestTickQuery = defineQuery<NoParams, TickRow & { age: number }>(
  'newest_tick',
  `
SELECT ${AT}, node, system, snapshot,
  CASE WHEN isfinite(at) THEN extract(epoch FROM clock_timestamp() - at)::float8 * 1000 ELSE 0 END AS age
FROM change_ticks WHERE at = (SELECT max(at) FROM change_ticks)
`,
);

const nextTickTimeQuery = defineQuery<{ last: string | null }, { at: string }>(
  'next_tick_time',
  `SELECT ${time("GREATEST(clock_timestamp(), $last::text::timestamptz + interval '1 microsecond')")} AS at`,
);

const insertTickQuery = defineQuery<{ at: string; nodes: number[]; systems: string[]; snapshots: string[] }>(
  'insert_tick',
  `
INSERT INTO change_ticks (at, node, system, snapshot)
SELECT $at::text::timestamptz, s.node, s.system, s.snapshot
FROM unnest($nodes::integer[], $systems::text[], $snapshots::text[]) AS s (node, system, snapshot)
`,
);

function insertTick(query: QueryExecutor, at: string, snapshots: Snapshots): Promise<unknown> {
  const rows = [...snapshots.values()];
  return query(insertTickQuery, {
    at,
    nodes: rows.map(({ node }) => node),
    systems: rows.map(({ system }) => system),
    snapshots: rows.map(({ snapshot }) => snapshot),
  });
}

const forgetChangesQuery = defineQuery<{ part: number }, { node: number; xid: string }>(
  'forget_changes',
  'SELECT node, xid::text AS xid FROM memory_forget_changes($part::integer)',
);

/** Deletes the ticks that do not see every transaction up to a node's `xid`, and all earlier ticks. */
const pruneTicksQuery = defineQuery<{ nodes: number[]; xids: string[] }>(
  'prune_ticks',
  `
DELETE FROM change_ticks WHERE at <= (
  SELECT max(t.at) FROM unnest($nodes::integer[], $xids::text[]) AS f (node, xid)
  JOIN change_ticks AS t ON t.node = f.node AND split_part(t.snapshot, ':', 1)::bigint <= f.xid::bigint
)
`,
);

const deleteTicksQuery = defineQuery<NoParams>('delete_ticks', 'DELETE FROM change_ticks');

/** Number of partitions in `change_log`. */
export const PARTS = 3;

/** Empties a partition in the log. Readers that have not read all its rows find their tick deleted. */
export async function forgetChanges(query: QueryExecutor, part: number): Promise<void> {
  const { rows } = await query(forgetChangesQuery, { part });
  if (rows.length === 0) return;
  await query(pruneTicksQuery, { nodes: rows.map(({ node }) => node), xids: rows.map(({ xid }) => xid) });
}

/** Empties the log, and deletes all ticks. */
export async function emptyChangeLog(query: QueryExecutor): Promise<void> {
  for (let part = 0; part < PARTS; part++) await query(forgetChangesQuery, { part });
  await query(deleteTicksQuery, {});
}

function parseSnapshot({ snapshot }: NodeSnapshot): { xmin: bigint; xmax: bigint; running: bigint[] } {
  const [xmin = '', xmax = '', running = ''] = snapshot.split(':');
  const ids = running === '' ? [] : running.split(',').map(BigInt);
  return { xmin: BigInt(xmin), xmax: BigInt(xmax), running: ids };
}

/** Whether `now` continues `earlier` on each node. False after a restore on another server, or from an older backup. */
function isContinued(earlier: Snapshots, now: Snapshots): boolean {
  return [...earlier.values()].every((old) => {
    const current = now.get(old.node);
    if (current === undefined) return true;
    return current.system === old.system && parseSnapshot(current).xmax >= parseSnapshot(old).xmax;
  });
}

/** Whether every transaction that ran at `earlier` has ended. */
function isOver(earlier: Snapshots, now: Snapshots): boolean {
  return [...now.values()].every((current) => {
    const old = earlier.get(current.node);
    return old === undefined || parseSnapshot(current).xmin >= parseSnapshot(old).xmax;
  });
}

const countRowsQuery = defineQuery<RangeParams, { found: number }>(
  'find_unseen_change',
  `
SELECT 1 AS found FROM unnest($nodes::integer[], $firsts::text[], $ends::text[], $snapshots::text[]) AS r (node, first, "end", snapshot)
JOIN change_log AS c ON c.node = r.node AND c.xid >= r.first::bigint AND c.xid < r."end"::bigint
WHERE pg_visible_in_snapshot(c.xid::text::xid8, r.snapshot::pg_snapshot)
LIMIT 1
`,
);

export type RangeParams = { nodes: number[]; firsts: string[]; ends: string[]; snapshots: string[] };

const MAX_XID = 2n ** 63n - 1n;

/**
 * Returns the transactions that are not visible in `after` and may be visible in `until`: transaction number ranges
 * (`first` to before `end`) with their node's snapshot in `until`. All transactions from a removed node are visible.
 */
export function unseenRanges(after: Snapshots, until: Snapshots): RangeParams {
  const ranges: RangeParams = { nodes: [], firsts: [], ends: [], snapshots: [] };
  for (const node of new Set([...after.keys(), ...until.keys()])) {
    const [old, current] = [after.get(node), until.get(node)];
    const { xmax: first, running } = old ? parseSnapshot(old) : { xmax: 0n, running: [] };
    const end = current ? parseSnapshot(current).xmax : MAX_XID;
    const snapshot = current?.snapshot ?? `${MAX_XID}:${MAX_XID}:`;
    for (const [from, to] of [[first, end] as const, ...running.map((xid) => [xid, xid + 1n] as const)]) {
      ranges.nodes.push(node);
      ranges.firsts.push(String(from));
      ranges.ends.push(String(to));
      ranges.snapshots.push(snapshot);
    }
  }
  return ranges;
}

/**
 * Returns the newest tick's time. Makes a tick first if the newest one is older than `minAgeMs` and does not see every
 * row. Concurrent calls make a tick each, because a tick that began earlier does not see the changes before a call.
 *
 * The first call after the log was turned on only stores a mark, as a tick at -infinity. While a transaction runs that
 * ran then, there is no tick, because it may have changed a tenant without a row in the log.
 *
 * @returns undefined if there is no tick
 */
export async function makeTick(database: Database, minAgeMs: number): Promise<string | undefined> {
  const { query, kind } = database;
  const newest = (await query(newestTickQuery, {})).rows;
  const at = newest[0]?.at ?? undefined;
  if (at !== undefined) {
    if ((newest[0]?.age ?? 0) < minAgeMs) return at;
    const [before, now] = [toSnapshots(newest), await readSnapshots(query, kind)];
    const isCurrent =
      isContinued(before, now) && (await query(countRowsQuery, unseenRanges(before, now))).rows.length === 0;
    if (isCurrent) return at;
  }
  return database.transaction((inTransaction) => addTick(inTransaction, kind, at));
}

/** Adds a tick, unless another session has added one after the tick at `last`. */
async function addTick(
  query: QueryExecutor,
  kind: Database['kind'],
  last: string | undefined,
): Promise<string | undefined> {
  if ((await lockChangeLog(query)) === undefined) return undefined;
  const newest = (await query(newestTickQuery, {})).rows;
  const newestAt = newest[0]?.at ?? undefined;
  if (newestAt !== last) return newestAt;
  if (kind === 'citus') await query(holdShardsQuery, {});
  const [before, now] = [toSnapshots(newest), await readSnapshots(query, kind)];
  if (!isContinued(before, now)) {
    await emptyChangeLog(query);
    return undefined;
  }
  if (newest.length === 0) {
    await insertTick(query, '-infinity', now);
    return undefined;
  }
  if (newestAt === undefined && !isOver(before, now)) return undefined;
  const at = (await query(nextTickTimeQuery, { last: newestAt ?? null })).rows[0]?.at;
  if (at !== undefined) await insertTick(query, at, now);
  return at;
}

const oldestTickQuery = defineQuery<NoParams, { at: string }>(
  'oldest_tick',
  `SELECT ${time('min(at)')} AS at FROM change_ticks WHERE isfinite(at) HAVING min(at) IS NOT NULL`,
);

/** Returns the oldest tick's time; undefined if there is no tick. */
export async function oldestTick(query: QueryExecutor): Promise<string | undefined> {
  return (await query(oldestTickQuery, {})).rows[0]?.at;
}

const tickBeforeQuery = defineQuery<{ at: string }, { at: string }>(
  'tick_before',
  `
SELECT ${time('max(at)')} AS at FROM change_ticks WHERE isfinite(at) AND at <= $at::text::timestamptz
HAVING max(at) IS NOT NULL
`,
);

/** Returns the last tick's time that is not after `at`; undefined if there is none. */
export async function tickBefore(query: QueryExecutor, at: string): Promise<string | undefined> {
  return (await query(tickBeforeQuery, { at })).rows[0]?.at;
}

const readTicksQuery = defineQuery<
  { after: string; until: string | null; ticks: number },
  NodeSnapshot & { at: string }
>(
  'read_ticks',
  `
SELECT ${time('at')} AS at, node, system, snapshot FROM change_ticks
WHERE at = $after::text::timestamptz OR at = COALESCE($until::text::timestamptz, (
  SELECT max(later.at) FROM (
    SELECT DISTINCT t.at FROM change_ticks AS t WHERE t.at > $after::text::timestamptz ORDER BY t.at LIMIT $ticks::bigint
  ) AS later
))
`,
);

/** Two ticks: the first one's snapshots, and the later one's time and snapshots, if there is a later one. */
export interface Window {
  after: Snapshots;
  until?: { at: string; snapshots: Snapshots };
}

/**
 * Reads the tick at `after`, and the tick at `until` or, for null, the last of the next `ticks` ticks.
 *
 * @returns undefined if one of the ticks does not exist
 */
export async function readWindow(
  query: QueryExecutor,
  params: { after: string; until: string | null; ticks: number },
): Promise<Window | undefined> {
  const { rows } = await query(readTicksQuery, params);
  const after = toSnapshots(rows.filter(({ at }) => at === params.after));
  const later = rows.filter(({ at }) => at !== params.after);
  if (after.size === 0 || (params.until !== null && later.length === 0)) return undefined;
  const at = later[0]?.at;
  return at === undefined ? { after } : { after, until: { at, snapshots: toSnapshots(later) } };
}
