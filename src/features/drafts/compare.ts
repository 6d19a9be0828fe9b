import { createHash } from 'node:crypto';
import type { Database } from '../../core/database/database.ts';
import type { QueryExecutor } from '../../core/database/query.ts';
import { ServiceError } from '../../core/errors/errors.ts';
import type { MergeThreads } from '../../core/history/line-merge.ts';
import type { LoadedState } from '../../core/history/log.ts';
import type { MergedTexts } from '../../core/history/merge-file.ts';
import type { SameContent, ThreeWay } from '../../core/history/three-way.ts';
import { timeSliced, timeSlicedSort } from '../../core/lib/time-slice.ts';
import { compareContents, type DraftIds, mergeTexts, type SideTexts } from './contents.ts';
import { type Draft, findOpenDraft } from './drafts.ts';
import { blockingFiles, directoryChanges, type MergePlan, planMerge } from './merge-plan.ts';
import { isTouched, pairFiles } from './pair-files.ts';
import { readLastChange, readSides, type Sides } from './trees.ts';

/** A draft compared with its original, from one snapshot. */
export interface Comparison {
  draft: Draft;
  sides: Sides;
  /** All files in the base, the draft, and the original. */
  files: ThreeWay[];
  same: SameContent;
  texts: MergedTexts;
  /** Merge plan without resolutions. */
  plan: MergePlan;
  /** The comparison's fingerprint. A merge is rejected if its comparison has a different fingerprint. */
  review: string;
}

/**
 * Compares an open draft with the original by file, and by line for files that both sides changed. Acquires no locks.
 *
 * @throws ServiceError if the draft does not exist or is closed
 */
export async function compareDraft(
  database: Database,
  threads: MergeThreads,
  { tenant, draft: id }: DraftIds,
): Promise<Comparison> {
  const ids = { tenant, draft: id };
  const { draft, sides, files, same } = await database.transaction(
    async (query) => {
      const draft = await findOpenDraft(query, tenant, id);
      const { sides, files } = await readFiles(query, ids);
      return { draft, sides, files, same: await compareContents(query, ids, files) };
    },
    { snapshot: true },
  );
  // Outside the snapshot, because merging lines can take long. Versions are immutable.
  const texts = await mergeTexts(database.query, threads, ids, files.filter(isTouched), same);
  const plan = await planMerge({ sides, files, same, texts, resolutions: new Map() });
  return { draft, sides, files, same, texts, plan, review: await reviewFingerprint(sides, files, plan) };
}

/** Time for which a comparison is cached for the next request in its review. */
const KEPT_MS = 60_000;

/** The latest comparison on each database. A review requests the comparison again for every file. */
const latest = new WeakMap<Database, { comparison: Comparison; tenant: string; timer: NodeJS.Timeout }>();

/**
 * Returns a draft's cached comparison if neither side has changed since, or a new comparison.
 *
 * @throws ServiceError if the draft does not exist or is closed
 */
export async function currentComparison(
  database: Database,
  threads: MergeThreads,
  { tenant, draft: id }: DraftIds,
): Promise<Comparison> {
  const kept = latest.get(database);
  if (kept?.tenant === tenant && kept.comparison.draft.id === id) {
    const draft = await findOpenDraft(database.query, tenant, id);
    const { draftAt, originalAt } = kept.comparison.sides;
    const isCurrent =
      (await readLastChange(database.query, id)) === draftAt &&
      (await readLastChange(database.query, tenant)) === originalAt;
    if (isCurrent) return { ...kept.comparison, draft };
  }
  const comparison = await compareDraft(database, threads, { tenant, draft: id });
  clearTimeout(kept?.timer);
  const timer = setTimeout(() => latest.delete(database), KEPT_MS).unref();
  latest.set(database, { comparison, tenant, timer });
  return comparison;
}

/** Reads the three sides, and matches their files. */
export async function readFiles(query: QueryExecutor, { tenant, draft }: DraftIds) {
  const sides = await readSides(query, tenant, draft);
  return { sides, files: await pairFiles(sides) };
}

/** The decoded `review`: times of the last change on both sides, and a hash of the state that a merge depends on. */
export interface Reviewed {
  draftAt: string;
  originalAt: string;
  hash: string;
}

/**
 * Computes a review's fingerprint. The fingerprint covers, on all sides, the files that the draft changed, the
 * directories that it changed, and the files that block it. Other files in the original may change before the merge,
 * because a merge does not affect them.
 *
 * @param plan plan without resolutions
 */
export async function reviewFingerprint(
  sides: Sides,
  files: readonly ThreeWay[],
  plan: MergePlan,
): Promise<string> {
  const { wanted, unwanted } = directoryChanges(sides);
  const seen = new Set([...files.filter(isTouched), ...blockingFiles(plan)]);
  const versions: string[] = [];
  for await (const { id, base, draft, original } of timeSliced(seen))
    versions.push([id, base?.versionId, draft?.versionId, original?.versionId].join(' '));
  const sha256 = createHash('sha256');
  for (const list of [versions, [...wanted], [...unwanted]]) {
    // NUL is a safe separator: no path contains it. An empty item ends each list.
    for await (const each of timeSliced(await timeSlicedSort(list))) sha256.update(`${each}\0`);
    sha256.update('\0');
  }
  const hash = sha256.digest('hex');
  const { draftAt, originalAt } = sides;
  return [toMicroseconds(draftAt), toMicroseconds(originalAt), hash.slice(0, 40)].join('-');
}

/** @throws ServiceError if the text was not created by `reviewFingerprint` */
export function readReview(review: string): Reviewed {
  const [, draft, original, hash] = /^(\d{1,17})-(\d{1,17})-([0-9a-f]{40})$/.exec(review) ?? [];
  if (draft === undefined || original === undefined || hash === undefined)
    throw new ServiceError(
      'invalid_parameter',
      'The `review` is not valid: use the `review` of a comparison.',
    );
  return { draftAt: timeAt(draft), originalAt: timeAt(original), hash };
}

/** Converts a database time to microseconds since 1970. */
function toMicroseconds(time: string): string {
  return `${Date.parse(`${time.slice(0, 23)}Z`)}${time.slice(23, 26)}`;
}

function timeAt(microseconds: string): string {
  const milliseconds = Number(microseconds.slice(0, -3));
  return `${new Date(milliseconds).toISOString().slice(0, 23)}${microseconds.slice(-3)}Z`;
}

/** Converts one side of a file to diff input. */
export function loadedSide(file: ThreeWay, texts: SideTexts, side: keyof SideTexts): LoadedState {
  const there = file[side];
  const content = texts[side];
  if (there === null) return { kind: 'absent' };
  return content === null ? { kind: 'pruned' } : { kind: 'file', path: there.path, content };
}
