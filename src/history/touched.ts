import { type MemoryPath, ROOT } from '../memory/path.ts';
import type { QueryExecutor } from '../postgres/query.ts';
import { readPages } from '../util/pages.ts';
import { FIRST_ID } from './queries.ts';
import {
  listDirectoriesSinceQuery,
  listHeadsSinceQuery,
  listPeriodsQuery,
  listSinceQuery,
  type Period,
  readTouchedQuery,
  type TouchedFile,
} from './revert-queries.ts';

const VERSIONS_A_PAGE = 20_000;
const ROWS_A_PAGE = 2000;
/** Few, because the heads among them are hashed. */
const FILES_A_PAGE = 500;
/** After every path of a memory. */
const LAST_PATH = '/memories0';

export interface Changes {
  tenant: string;
  by: string;
  since: string;
}

/** The files that an actor changed since a time, by their ids, and the times of those changes that made what is there now. */
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
  changes: Changes,
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
    for (const { memoryId, first, other } of rows) add(memoryId, first, other);
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
  for await (const { memoryId, version, createdAt, isTheirs } of heads) {
    add(memoryId, isTheirs ? version : null, isTheirs ? null : version);
    if (isTheirs) headTimes.add(createdAt);
  }

  const files: Touched['files'] = new Map();
  for (const [memoryId, { first, other }] of seen) {
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
 * Which directories to bring back and which to remove, to undo the actor's changes of them, as far as nobody else made or removed them after.
 */
export async function touchedDirectories(
  query: QueryExecutor,
  changes: Changes,
  { headTimes }: Touched,
): Promise<{ wanted: Set<MemoryPath>; unwanted: Set<MemoryPath> }> {
  const directories = new Map<MemoryPath, TouchedDirectory>();
  const add = (period: Period) => {
    const directory = directories.get(period.path) ?? new TouchedDirectory(period);
    directories.set(period.path, directory);
    const { madeAt, removedAt, isMadeByThem, isRemovedByThem } = period;
    directory.undo(
      isMadeByThem ?? headTimes.has(madeAt),
      removedAt === null ? null : (isRemovedByThem ?? headTimes.has(removedAt)),
    );
  };
  const present = readPages<Period>(
    async (last) =>
      (await query(listDirectoriesSinceQuery, { ...changes, after: last?.path ?? ROOT, limit: ROWS_A_PAGE }))
        .rows,
    ROWS_A_PAGE,
  );
  for await (const period of present) add(period);
  const past = readPages<Period>(async (last) => {
    const position = { before: last?.path ?? LAST_PATH, beforeTime: last?.removedAt ?? 'infinity' };
    return (await query(listPeriodsQuery, { ...changes, ...position, limit: ROWS_A_PAGE })).rows;
  }, ROWS_A_PAGE);
  for await (const period of past) add(period);

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
