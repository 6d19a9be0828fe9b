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
 * What `revert` reads: an actor's changes in pages, and then of each file only what decides what becomes of it, which
 * are a few look-ups by key. A change that made no version yet superseded is that of a head.
 */

/** An actor's changes between two times. */
export type ActorChanges = { tenant: string; by: string; since: string; until: string };

/**
 * Whether a change at a time is the actor's, and not one after `until`: what the actor did later counts like what
 * others did.
 */
export const isTheirs = (origin: string, at: string) =>
  `(${isBy(origin, '$by')}) AND ${at} <= $until::text::timestamptz`;

/**
 * Which changes of a file are in a page: the actor's first one and the last one by anybody else. Ids grow with time.
 */
export interface FileChanges {
  memoryId: string;
  first: string | null;
  other: string | null;
}

/** A page of the superseded versions since a time, by their files. `last` is that of the page, of `count` versions. */
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

/** A page of the heads since a time, in the order of their paths. */
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

/** A version of a touched file. */
export interface TouchedVersion {
  versionId: string;
  operation: Operation;
  /** Null once redacted. */
  path: MemoryPath | null;
  /** Of the content, in hexadecimal. Null for a deleted or redacted one. */
  sha256: string | null;
  sizeBytes: number | null;
}

/** A file that an actor changed since a time. */
export interface TouchedFile {
  memoryId: string;
  /** The last one that is known. */
  path: MemoryPath | null;
  /** Null when the file is deleted. */
  head: TouchedVersion | null;
  /** What the actor's first version since then did, and the version before it. */
  firstOperation: Operation;
  before: TouchedVersion | null;
  /** The last version by anybody else, if it came after. */
  other: (TouchedVersion & { origin: Origin | null; createdAt: string }) | null;
  /** The time of the actor's first version after `other`, or of the first one; null when there is none. */
  startedAt: string | null;
}

const STATE = (version: string, more = '') => `CASE WHEN ${version}.id IS NOT NULL THEN jsonb_build_object(
    'versionId', ${version}.id, 'operation', ${version}.operation, 'path', ${version}.path, 'sha256', encode(${version}.content_sha256, 'hex'),
    'sizeBytes', ${version}.size_bytes${more}
  ) END`;
const VERSION =
  'SELECT id, operation, path, content_sha256, size_bytes, origin, created_at FROM versions WHERE tenant_id = $tenant';

/** Files that an actor changed, given by their ids, and those of the versions `first` and `other` of each. */
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
/** Rows of files or directories a page. */
export const ROWS_A_PAGE = 2000;
/** Few, because the heads among them are hashed. */
const FILES_A_PAGE = 500;

/**
 * The files that an actor changed since a time, by their ids, and the times of those changes that made what is there
 * now.
 */
export interface Touched {
  files: Map<string, { first: string; other: string | null }>;
  headTimes: Set<string>;
}

/**
 * Finds the files that an actor changed, page by page: what is kept of each is the same, however often it was changed.
 *
 * @param onProgress is told how many versions were read
 */
export async function findTouched(
  query: QueryExecutor,
  changes: ActorChanges,
  onProgress: (versions: number) => void,
): Promise<Touched> {
  const seen = new Map<string, { first: string | null; other: string | null }>();
  const headTimes = new Set<string>();
  // In any order: the first one of the actor's and the last one of the others count.
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

/** Reads what decides what becomes of the files. */
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
 * What the actor did that stays, at least in part, and why. A directory has no id; `path` is null when it is
 * redacted.
 */
export type Conflict = { memoryId: string | null; path: MemoryPath | null } & (
  | {
      /**
       * `changed`: somebody else changed the file since. `mixed`: in between, so what the actor did before that
       * stays.
       */
      reason: 'changed' | 'mixed';
      changedBy: Actor;
      changedAt: string;
    }
  /** Something else is `at` a path now. */
  | { reason: 'occupied'; at: MemoryPath }
  /** What was before is not kept any more. */
  | { reason: 'pruned' | 'redacted' }
);

/** `startedAt`: the time of the first change to undo. */
export type Undo = RestoreTarget & { startedAt: string };

/**
 * Which of the actor's changes of a file to undo: the latest ones, after which nobody else changed it. The others are
 * a conflict, unless the file is as it was before them, as after another revert.
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

/** What a file was before the actor's first change, or why that is not known. */
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
 * Undoes what an actor did since a time, or between two times, and nothing else: a file goes back to what it was
 * before the actor's latest changes. One that somebody else changed since is left alone. Directories that the actor
 * made and nothing is in any more go too, and those that it removed come back. All at once; the tenant's writers wait
 * meanwhile unless it is a dry run, readers do not.
 *
 * @param what.by as in the filter of versions (`VersionFilter`)
 * @param what.until by default now; what the actor did after that counts like what others did
 * @throws ServiceError for a time before the history is complete, and when the result would exceed the quota
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
    // As if undone one after the other, the latest first: of two files that were at one path, the later one gets it.
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

/** What stays of what an actor did, and why. */
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

/** After every path of a memory. */
const LAST_PATH = '/memories0';

/**
 * Whether a change of a directory is the actor's, by any version that the same change made; null when all of those
 * are heads.
 */
const isTheirsAt = (at: string) => `(
    SELECT ${isTheirs('v.origin', 'v.created_at')} FROM versions AS v
    WHERE v.tenant_id = $tenant AND ${at} >= $since::text::timestamptz
      AND v.id >= memory_first_id(${at}) AND v.id < memory_first_id(${at} + interval '1 microsecond') LIMIT 1
  )`;

/** A time at which a directory was at its path; `removedAt` is null for one that is there. */
export interface Period {
  path: MemoryPath;
  createdAt: string;
  removedAt: string | null;
  /** Whether the actor did it; null when no superseded version says so. */
  isMadeByThem: boolean | null;
  isRemovedByThem: boolean | null;
}

/** A page of the directories that were removed since a time, the last path and its latest period first. */
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
 * A page of the directories that are there and were made since a time, in the order of their paths. The first page
 * comes after the root.
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
 * Which directories to bring back and which to remove, to undo the actor's changes of them, as far as nobody else
 * made or removed them after.
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

/** A directory, whose periods are undone one by one, the latest first. */
class TouchedDirectory {
  readonly isThere: boolean;
  wasThere: boolean;
  /** Somebody else's change has been reached. */
  #isDone = false;

  constructor({ removedAt }: Period) {
    this.isThere = removedAt === null;
    this.wasThere = this.isThere;
  }

  /** @param isRemovedByThem null for the period that lasts */
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
