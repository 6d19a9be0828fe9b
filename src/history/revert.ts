import type { Database } from '../database/database.ts';
import { defineQuery, type QueryExecutor, time } from '../database/query.ts';
import { readPages } from '../lib/pages.ts';
import { timeSliced, timeSlicedSort } from '../lib/time-slice.ts';
import { type Actor, actorOf, actorText, type Origin } from '../memory/origin.ts';
import { type MemoryPath, ROOT } from '../memory/path.ts';
import { apply, type ChangeOptions, changeTenant, isChange, planChange, readTimes } from './apply.ts';
import type { Changes } from './log.ts';
import { checkComplete, NOW } from './past.ts';
import type { PlannedFile, RestoreTarget } from './plan.ts';
import { shownTime } from './time-text.ts';
import { FIRST_ID, isBy, type Operation } from './version.ts';

/*
 * Reverts the changes of an actor. Reads the actor's changes page by page. Then reads, for each file, only the few
 * versions that decide its target state, by key. A change whose version is not superseded yet is stored in the file's
 * current version.
 */

/** Selection of an actor's changes between two times. */
export type ActorChanges = { tenant: string; by: string; since: string; until: string };

/**
 * SQL condition: whether a change was made by the actor, at or before `until`. Later changes of the actor are treated
 * like changes of others.
 */
export const isTheirs = (origin: string, at: string) =>
  `(${isBy(origin, '$by')}) AND ${at} <= $until::text::timestamptz`;

/** Changes of a file within a page: the actor's first change, and the last change by others. IDs grow with time. */
export interface FileChanges {
  memoryId: string;
  first: string | null;
  other: string | null;
}

/** Groups a page of the superseded versions since a time by file. `last` and `count` describe the whole page. */
const listSinceQuery = defineQuery<
  ActorChanges & { after: string; limit: number },
  FileChanges & { last: string; count: number }
>(
  'list_since',
  `
WITH page AS MATERIALIZED (
  SELECT v.id::text COLLATE "C" AS id, v.memory_id, (${isTheirs('v.origin', 'v.created_at')}) AS is_theirs FROM versions AS v
  WHERE v.tenant_id = $tenant AND v.id >= memory_first_id($since::text::timestamptz) AND v.id > $after::text::uuid ORDER BY v.id LIMIT $limit::integer
)
SELECT p.memory_id AS "memoryId", min(p.id) FILTER (WHERE p.is_theirs) AS first, max(p.id) FILTER (WHERE NOT p.is_theirs) AS other,
  (SELECT max(id) FROM page) AS last, (SELECT count(*)::integer FROM page) AS count
FROM page AS p GROUP BY p.memory_id
`,
);

const listHeadsSinceQuery = defineQuery<
  ActorChanges & { after: string; limit: number },
  { path: string; memoryId: string; version: string; createdAt: string; isTheirs: boolean }
>(
  'list_heads_since',
  `
SELECT e.path, e.memory_id AS "memoryId", e.version, ${time('e.changed_at')} AS "createdAt", (${isTheirs('e.origin', 'e.changed_at')}) AS "isTheirs"
FROM entries AS e
WHERE e.tenant_id = $tenant AND e.path > $after AND e.kind = 'file' AND e.changed_at >= $since::text::timestamptz ORDER BY e.path LIMIT $limit::integer
`,
);

export interface TouchedVersion {
  versionId: string;
  operation: Operation;
  /** Null for redacted versions. */
  path: MemoryPath | null;
  /** SHA-256 of the content, hexadecimal. Null for deletions and redacted versions. */
  sha256: string | null;
  sizeBytes: number | null;
}

/** A file that an actor changed since a time. */
export interface TouchedFile {
  memoryId: string;
  /** Last known path of the file. */
  path: MemoryPath | null;
  /** Current version; null if the file is deleted. */
  head: TouchedVersion | null;
  /** Operation of the actor's first change since that time, and the version before this change. */
  firstOperation: Operation;
  before: TouchedVersion | null;
  /** Last version by others after the actor's first change. */
  other: (TouchedVersion & { origin: Origin | null; createdAt: string }) | null;
  /**
   * Time of the actor's first change after `other`, or of the first change if there is no `other`. Null if no such
   * change exists.
   */
  startedAt: string | null;
}

const STATE = (version: string, more = '') => `CASE WHEN ${version}.id IS NOT NULL THEN jsonb_build_object(
    'versionId', ${version}.id, 'operation', ${version}.operation, 'path', ${version}.path, 'sha256', encode(${version}.content_sha256, 'hex'),
    'sizeBytes', ${version}.size_bytes${more}
  ) END`;
const VERSION =
  'SELECT id, operation, path, content_sha256, size_bytes, origin, created_at FROM versions WHERE tenant_id = $tenant';

/**
 * Reads the versions that decide the target states of files. Each file is given by its ID and its versions `first` and
 * `other`.
 */
const readTouchedQuery = defineQuery<
  { tenant: string; memoryIds: string[]; firsts: string[]; others: (string | null)[] },
  TouchedFile
>(
  'read_touched',
  `
SELECT f.memory_id AS "memoryId", COALESCE(head.path, named.path) AS path, ${STATE('head')} AS head,
  COALESCE(first.operation, head.operation) AS "firstOperation", ${STATE('before')} AS before,
  CASE WHEN f.other = head.id THEN ${STATE('head', `, 'origin', head.origin, 'createdAt', ${time('head.created_at')}`)}
    ELSE ${STATE('other', `, 'origin', other.origin, 'createdAt', ${time('other.created_at')}`)} END AS other,
  ${time(`CASE
    WHEN f.other IS NULL THEN COALESCE(first.created_at, head.created_at)
    ELSE COALESCE(next.created_at, CASE WHEN head.id > f.other THEN head.created_at END)
  END`)} AS "startedAt"
FROM unnest($memoryIds::text[]::uuid[], $firsts::text[]::uuid[], $others::text[]::uuid[]) AS f (memory_id, first, other)
LEFT JOIN LATERAL (
  SELECT version AS id, operation, path, memory_sha256(content) AS content_sha256, size_bytes, origin, changed_at AS created_at
  FROM entries WHERE tenant_id = $tenant AND memory_id = f.memory_id OFFSET 0
) AS head ON true
LEFT JOIN LATERAL (${VERSION} AND id = f.first OFFSET 0) AS first ON true
LEFT JOIN LATERAL (
  ${VERSION} AND memory_id = f.memory_id AND id < f.first ORDER BY memory_id DESC, id DESC LIMIT 1
) AS before ON true
LEFT JOIN LATERAL (${VERSION} AND id = f.other OFFSET 0) AS other ON true
LEFT JOIN LATERAL (
  ${VERSION} AND memory_id = f.memory_id AND id > f.other ORDER BY memory_id, id LIMIT 1
) AS next ON true
LEFT JOIN LATERAL (
  ${VERSION} AND memory_id = f.memory_id AND path IS NOT NULL ORDER BY memory_id DESC, id DESC LIMIT 1
) AS named ON head.id IS NULL
`,
);

const VERSIONS_A_PAGE = 20_000;
/** Rows of files or directories per page. */
export const ROWS_A_PAGE = 2000;
/** Small, because the contents of current versions are hashed. */
const FILES_A_PAGE = 500;

/**
 * The files that an actor changed since a time, by ID, and the times of the actor's changes that created current
 * versions.
 */
export interface Touched {
  files: Map<string, { first: string; other: string | null }>;
  headTimes: Set<string>;
}

/**
 * Finds the files that an actor changed, page by page. Memory use depends on the number of files, not on the number of
 * changes.
 *
 * @param onProgress receives the number of versions read so far
 */
export async function findTouched(
  query: QueryExecutor,
  changes: ActorChanges,
  onProgress: (versions: number) => void,
): Promise<Touched> {
  const seen = new Map<string, { first: string | null; other: string | null }>();
  const headTimes = new Set<string>();
  // Independent of the order: keeps the actor's first change and the last change by others.
  const add = (memoryId: string, first: string | null, other: string | null) => {
    const file = seen.get(memoryId) ?? { first: null, other: null };
    if (first !== null && (file.first === null || first < file.first)) file.first = first;
    if (other !== null && (file.other === null || other > file.other)) file.other = other;
    seen.set(memoryId, file);
  };

  let versions = 0;
  for (let after = FIRST_ID; ; ) {
    const { rows } = await query(listSinceQuery, { ...changes, after, limit: VERSIONS_A_PAGE });
    for await (const { memoryId, first, other } of timeSliced(rows)) add(memoryId, first, other);
    const [row] = rows;
    if (row === undefined) break;
    after = row.last;
    versions += row.count;
    onProgress(versions);
  }
  const heads = readPages<{
    path: string;
    memoryId: string;
    version: string;
    createdAt: string;
    isTheirs: boolean;
  }>(
    async (last) =>
      (await query(listHeadsSinceQuery, { ...changes, after: last?.path ?? '', limit: ROWS_A_PAGE })).rows,
    ROWS_A_PAGE,
  );
  for await (const { memoryId, version, createdAt, isTheirs } of timeSliced(heads)) {
    add(memoryId, isTheirs ? version : null, isTheirs ? null : version);
    if (isTheirs) headTimes.add(createdAt);
  }

  const files: Touched['files'] = new Map();
  for await (const [memoryId, { first, other }] of timeSliced(seen)) {
    if (first !== null) files.set(memoryId, { first, other: other !== null && other > first ? other : null });
  }
  return { files, headTimes };
}

export async function* readTouched(
  query: QueryExecutor,
  tenant: string,
  { files }: Touched,
): AsyncGenerator<TouchedFile> {
  const all = [...files];
  for (let from = 0; from < all.length; from += FILES_A_PAGE) {
    const page = all.slice(from, from + FILES_A_PAGE);
    const { rows } = await query(readTouchedQuery, {
      tenant,
      memoryIds: page.map(([memoryId]) => memoryId),
      firsts: page.map(([, { first }]) => first),
      others: page.map(([, { other }]) => other),
    });
    yield* rows;
  }
}

/**
 * A change of the actor that the revert skipped completely or partly, with the reason. `memoryId` is null for
 * directories, and `path` is null if it is redacted.
 */
export type Conflict = { memoryId: string | null; path: MemoryPath | null } & (
  | {
      /**
       * `changed`: others changed the file after the actor. `mixed`: others changed the file between the actor's
       * changes, so that only the later ones are reverted.
       */
      reason: 'changed' | 'mixed';
      changedBy: Actor;
      changedAt: string;
    }
  /** Another entry occupies the path `at`. */
  | { reason: 'occupied'; at: MemoryPath }
  /** The version before the actor's change was pruned or redacted. */
  | { reason: 'pruned' | 'redacted' }
);

/** `startedAt`: the time of the first change to revert. */
export type Undo = RestoreTarget & { startedAt: string };

/**
 * Selects the changes of a file to revert: the actor's changes after the last change by others. Earlier changes of the
 * actor are a conflict, unless the file already has its state from before them, for example after an earlier revert.
 */
export function planUndo(touched: TouchedFile): { conflict?: Conflict; undo?: Undo } {
  const { memoryId, head, other, startedAt } = touched;
  const from = head === null ? null : changedFile(head);
  const file = { memoryId, path: touched.path };
  if (other !== null && isSame(pastFileBefore(touched), from)) return {};

  const conflict: Conflict | undefined =
    other === null
      ? undefined
      : {
          ...file,
          reason: startedAt === null ? 'changed' : 'mixed',
          changedBy: actorOf(other.origin),
          changedAt: other.createdAt,
        };
  if (startedAt === null) return conflict === undefined ? {} : { conflict };
  const to = other === null ? pastFileBefore(touched) : pastFileOf(other);
  if (typeof to === 'string') return { conflict: { ...file, reason: to } };
  const undo = { memoryId, from, to, startedAt };
  return conflict === undefined ? { undo } : { conflict, undo };
}

/** Returns the state of a file before the actor's first change, or the reason why the state is unknown. */
function pastFileBefore({ before, firstOperation }: TouchedFile): PlannedFile | null | 'pruned' | 'redacted' {
  if (before === null) return firstOperation === 'created' ? null : 'pruned';
  return pastFileOf(before);
}

function pastFileOf(version: TouchedVersion): PlannedFile | null | 'redacted' {
  return version.operation === 'deleted' ? null : (changedFile(version) ?? 'redacted');
}

function changedFile({ path, versionId, sha256, sizeBytes }: TouchedVersion): PlannedFile | null {
  if (path === null || sha256 === null || sizeBytes === null) return null;
  return { path, versionId, sha256, sizeBytes };
}

function isSame(a: PlannedFile | null | string, b: PlannedFile | null): boolean {
  if (typeof a === 'string') return false;
  return a?.path === b?.path && a?.sha256 === b?.sha256;
}

export interface Reverted extends Changes {
  conflicts: Conflict[];
}

/**
 * Reverts the changes of an actor since a time, or between two times. A file returns to its state before the actor's
 * latest changes. Files that others changed later keep their state. Empty directories that the actor created are
 * removed, and directories that the actor removed are created again. The revert is atomic. Except in a dry run, the
 * tenant's writers wait until the revert ends.
 *
 * @param selection.by actor, as in `VersionFilter`
 * @param selection.until end of the period; defaults to now. Later changes of the actor are treated like changes of
 *   others.
 * @throws ServiceError if the history is incomplete since that time, or the result would exceed the quota
 */
export function revertActor(
  database: Database,
  tenant: string,
  { by, since, until = NOW }: { by: string; since: string; until?: string | undefined },
  options: ChangeOptions,
): Promise<Reverted> {
  return changeTenant(database, tenant, options, async (query) => {
    const { from } = await readTimes(query, tenant, since);
    await checkComplete(query, tenant, from);
    const changes = { tenant, by, since: from, until };
    const touched = await findTouched(query, changes, options.onProgress ?? (() => {}));
    const conflicts: Conflict[] = [];
    const undone: Undo[] = [];
    for await (const file of timeSliced(readTouched(query, tenant, touched))) {
      const { conflict, undo } = planUndo(file);
      if (conflict !== undefined) conflicts.push(conflict);
      if (undo !== undefined) undone.push(undo);
    }
    // Reverts the latest change first. If two files were at one path, the file that was changed later gets the path.
    const targets = await timeSlicedSort(undone.filter(isChange), (a, b) =>
      a.startedAt > b.startedAt ? -1 : 1,
    );
    const directories = await touchedDirectories(query, changes, touched);
    const plan = await planChange(query, tenant, targets, directories);
    for (const { target, blockedBy } of plan.blockedTargets) {
      conflicts.push({ ...fileOf(target), reason: 'occupied', at: blockedBy });
    }
    for (const { path, blockedBy } of plan.blockedDirectories) {
      conflicts.push({ memoryId: null, path, reason: 'occupied', at: blockedBy });
    }
    const made = await apply(query, tenant, plan, options, 'revert');
    const byPath = (a: Conflict, b: Conflict) => ((a.path ?? '') < (b.path ?? '') ? -1 : 1);
    return { ...made, conflicts: await timeSlicedSort(conflicts, byPath) };
  });
}

function fileOf({ memoryId, from, to }: RestoreTarget) {
  return { memoryId, path: from?.path ?? to?.path ?? null };
}

/** Explains why a change of the actor was not fully reverted. */
export function conflictText(conflict: Conflict): string {
  const path = conflict.path ?? `the file ${conflict.memoryId}`;
  switch (conflict.reason) {
    case 'changed':
      return `${path}: ${actorText(conflict.changedBy)} changed it at ${shownTime(conflict.changedAt)}. Left unchanged.`;
    case 'mixed':
      return `${path}: ${actorText(conflict.changedBy)} changed it in between, at ${shownTime(conflict.changedAt)}. Only later changes are reverted.`;
    case 'occupied':
      return `${path}: ${conflict.at} is occupied. Left unchanged.`;
    case 'pruned':
    case 'redacted':
      return `${path}: its earlier state was ${conflict.reason}. Left unchanged.`;
  }
}

/** Sorts after every path of a memory. */
const LAST_PATH = '/memories0';

/**
 * SQL value: whether a change of a directory was made by the actor, according to any superseded version of the same
 * change. Null if the change has no superseded version.
 */
const isTheirsAt = (at: string) => `(
    SELECT ${isTheirs('v.origin', 'v.created_at')} FROM versions AS v
    WHERE v.tenant_id = $tenant AND ${at} >= $since::text::timestamptz
      AND v.id >= memory_first_id(${at}) AND v.id < memory_first_id(${at} + interval '1 microsecond') LIMIT 1
  )`;

/** A period in which a directory existed. `removedAt` is null if the directory still exists. */
export interface Period {
  path: MemoryPath;
  createdAt: string;
  removedAt: string | null;
  /** Whether the actor created the directory; null if no superseded version of the change exists. */
  isMadeByThem: boolean | null;
  isRemovedByThem: boolean | null;
}

/** Lists a page of directories that were removed since a time, by path and removal time, both descending. */
const listPeriodsQuery = defineQuery<
  ActorChanges & { before: string; beforeTime: string; limit: number },
  Period
>(
  'list_periods',
  `
SELECT d.path, ${time('d.created_at')} AS "createdAt", ${time('d.removed_at')} AS "removedAt",
  ${isTheirsAt('d.created_at')} AS "isMadeByThem", ${isTheirsAt('d.removed_at')} AS "isRemovedByThem"
FROM (
  SELECT path, created_at, removed_at FROM past_directories
  WHERE tenant_id = $tenant AND removed_at >= $since::text::timestamptz AND (path, removed_at) < ($before, $beforeTime::text::timestamptz)
  ORDER BY path DESC, removed_at DESC LIMIT $limit::integer
) AS d
ORDER BY d.path DESC, d.removed_at DESC
`,
);

/**
 * Lists a page of existing directories that were created since a time, ordered by path. The first page starts after the
 * root.
 */
const listDirectoriesSinceQuery = defineQuery<ActorChanges & { after: string; limit: number }, Period>(
  'list_directories_since',
  `
SELECT d.path, ${time('d.changed_at')} AS "createdAt", NULL AS "removedAt", ${isTheirsAt('d.changed_at')} AS "isMadeByThem",
  NULL::boolean AS "isRemovedByThem"
FROM (
  SELECT path, changed_at FROM entries
  WHERE tenant_id = $tenant AND dir_path > $after AND dir_path > '/memories' AND changed_at >= $since::text::timestamptz ORDER BY dir_path LIMIT $limit::integer
) AS d
ORDER BY d.path
`,
);

/**
 * Selects the directories to create and to remove in order to revert the actor's changes. Changes before the last
 * change by others are ignored.
 */
export async function touchedDirectories(
  query: QueryExecutor,
  changes: ActorChanges,
  { headTimes }: Touched,
): Promise<{ wanted: Set<MemoryPath>; unwanted: Set<MemoryPath> }> {
  const directories = new Map<MemoryPath, TouchedDirectory>();
  const add = (period: Period) => {
    const directory = directories.get(period.path) ?? new TouchedDirectory(period);
    directories.set(period.path, directory);
    const { createdAt, removedAt, isMadeByThem, isRemovedByThem } = period;
    directory.undo(
      isMadeByThem ?? headTimes.has(createdAt),
      removedAt === null ? null : (isRemovedByThem ?? headTimes.has(removedAt)),
    );
  };
  const present = readPages<Period>(
    async (last) =>
      (await query(listDirectoriesSinceQuery, { ...changes, after: last?.path ?? ROOT, limit: ROWS_A_PAGE }))
        .rows,
    ROWS_A_PAGE,
  );
  for await (const period of timeSliced(present)) add(period);
  const past = readPages<Period>(async (last) => {
    const position = { before: last?.path ?? LAST_PATH, beforeTime: last?.removedAt ?? 'infinity' };
    return (await query(listPeriodsQuery, { ...changes, ...position, limit: ROWS_A_PAGE })).rows;
  }, ROWS_A_PAGE);
  for await (const period of timeSliced(past)) add(period);

  const wanted = new Set<MemoryPath>();
  const unwanted = new Set<MemoryPath>();
  for (const [path, { isThere, wasThere }] of directories) {
    if (wasThere && !isThere) wanted.add(path);
    if (isThere && !wasThere) unwanted.add(path);
  }
  return { wanted, unwanted };
}

/** A directory whose periods are reverted one by one, latest first. */
class TouchedDirectory {
  readonly isThere: boolean;
  wasThere: boolean;
  /** Whether a change by others has been reached. */
  #isDone = false;

  constructor({ removedAt }: Period) {
    this.isThere = removedAt === null;
    this.wasThere = this.isThere;
  }

  /** @param isRemovedByThem null for the current period */
  undo(isMadeByThem: boolean, isRemovedByThem: boolean | null): void {
    if (this.#isDone) return;
    if (isRemovedByThem !== null && !this.wasThere) {
      this.#isDone = !isRemovedByThem;
      if (this.#isDone) return;
      this.wasThere = true;
    }
    this.#isDone = !isMadeByThem;
    if (!this.#isDone) this.wasThere = false;
  }
}
