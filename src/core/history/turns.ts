import { defineQuery, type QueryExecutor, time } from '../database/query.ts';
import { timeSliced } from '../lib/time-slice.ts';
import { FIRST_ID } from '../lib/uuids.ts';
import type { Actor } from '../memory/origin.ts';
import {
  type ActorChanges,
  isByActorSql,
  isResolution,
  type TouchedFile,
  type TouchedVersion,
} from './touched.ts';

/**
 * Consecutive changes to a file by others, after changes by the actor. If the actor deleted the file, its restoration
 * is a separate turn.
 */
export interface InterveningChange {
  file: TouchedFile;
  /** The actor's last version before the changes by others. Null if this version was pruned. */
  base: TouchedVersion | null;
  /** Last version in the changes by others. */
  last: TouchedVersion;
  changedBy: Actor;
  changedAt: string;
  /** Whether a version in the turn is the text that resolved the conflicts in an earlier revert. */
  isResolved: boolean;
}

interface VersionRow extends TouchedVersion {
  /** The file's position. */
  item: number;
  createdAt: string;
  supersededAt: string | null;
  /** Null for a version without an origin. */
  actor: Actor | null;
  isTheirs: boolean;
  isResolution: boolean;
}

/**
 * Lists a page of superseded file versions after the given versions, oldest first, in file order.
 */
const listTurnsQuery = defineQuery<
  ActorChanges & { items: number[]; memoryIds: string[]; afters: string[]; limit: number },
  VersionRow
>(
  'list_turns',
  `
SELECT f.item, v.id AS "versionId", v.operation, v.path, encode(v.content_sha256, 'hex') AS sha256,
  v.size_bytes AS "sizeBytes",
  ${time('v.created_at')} AS "createdAt", ${time('v.superseded_at')} AS "supersededAt", v.origin -> 'actor' AS actor,
  (${isByActorSql('v.origin', 'v.created_at')}) AS "isTheirs", ${isResolution('v.origin')} AS "isResolution"
FROM unnest($items::integer[], $memoryIds::text[]::uuid[], $afters::text[]::uuid[]) AS f (item, memory_id, after),
LATERAL (
  SELECT * FROM versions WHERE tenant_id = $tenant AND memory_id = f.memory_id AND id > f.after
  ORDER BY memory_id, id LIMIT $limit::integer
) AS v
ORDER BY f.item, v.id LIMIT $limit::integer
`,
);

const headActorsQuery = defineQuery<
  ActorChanges & { memoryIds: string[] },
  { memoryId: string; actor: Actor | null; createdAt: string; isResolution: boolean }
>(
  'list_head_actors',
  `
SELECT f.id::text AS "memoryId", e.origin -> 'actor' AS actor, ${time('e.changed_at')} AS "createdAt",
  ${isResolution('e.origin')} AS "isResolution"
FROM unnest($memoryIds::text[]::uuid[]) AS f (id), LATERAL (
  SELECT origin, changed_at FROM entries WHERE tenant_id = $tenant AND memory_id = f.id OFFSET 0
) AS e
`,
);

const ROWS_A_PAGE = 1000;

/** Yields the turns for files in order, oldest first. Memory use does not depend on the number of versions. */
export async function* readTurns(
  query: QueryExecutor,
  changes: ActorChanges,
  files: readonly TouchedFile[],
): AsyncGenerator<InterveningChange> {
  const heads = await query(headActorsQuery, {
    ...changes,
    memoryIds: files.map(({ memoryId }) => memoryId),
  });
  const headById = new Map(heads.rows.map((row) => [row.memoryId, row]));
  const afters = files.map(({ before }) => before?.versionId ?? FIRST_ID);
  let item = 0;
  let turns = new Turns(files[0]);
  const finishFile = (): InterveningChange | null => {
    const file = files[item];
    const head = file && headById.get(file.memoryId);
    let last: InterveningChange | null = null;
    if (file?.head && head) {
      const isTheirs = file.head.versionId !== file.other;
      last = turns.add({ ...file.head, ...head, item, supersededAt: null, isTheirs });
    }
    last ??= turns.end();
    item++;
    turns = new Turns(files[item]);
    return last;
  };
  for (;;) {
    const left = files.slice(item);
    if (left.length === 0) return;
    const { rows } = await query(listTurnsQuery, {
      ...changes,
      items: left.map((_, i) => item + i),
      memoryIds: left.map(({ memoryId }) => memoryId),
      afters: afters.slice(item),
      limit: ROWS_A_PAGE,
    });
    for await (const row of timeSliced(rows)) {
      while (item < row.item) {
        const ended = finishFile();
        if (ended !== null) yield ended;
      }
      const ended = turns.add(row);
      if (ended !== null) yield ended;
      afters[item] = row.versionId;
    }
    if (rows.length === ROWS_A_PAGE) continue;
    while (item < files.length) {
      const ended = finishFile();
      if (ended !== null) yield ended;
    }
  }
}

/** Splits one file's versions into turns. */
class Turns {
  readonly #file: TouchedFile | undefined;
  #base: VersionRow | null = null;
  #turn: InterveningChange | null = null;

  constructor(file: TouchedFile | undefined) {
    this.#file = file;
  }

  /** @returns the turn that ended before this version, if any */
  add(row: VersionRow): InterveningChange | null {
    if (row.isTheirs) {
      const ended = this.end();
      this.#base = row;
      return ended;
    }
    if (this.#file === undefined) return null;
    this.#turn = {
      file: this.#file,
      base: this.#turn === null ? this.#adjacentBase(row) : this.#turn.base,
      last: row,
      changedBy: row.actor ?? { type: 'anonymous' },
      changedAt: row.createdAt,
      isResolved: row.isResolution || (this.#turn?.isResolved ?? false),
    };
    // After a deletion, only the version that restores the file is compared with the state before the deletion.
    if (this.#turn.base?.operation !== 'deleted') return null;
    this.#base = row;
    return this.end();
  }

  /** Returns null if a version between the actor's last version and `row` was pruned. A deletion has no period. */
  #adjacentBase(row: VersionRow): VersionRow | null {
    const base = this.#base;
    if (base === null || base.operation === 'deleted') return base;
    return base.supersededAt === row.createdAt ? base : null;
  }

  end(): InterveningChange | null {
    const ended = this.#turn;
    this.#turn = null;
    return ended;
  }
}
