import type { QueryExecutor } from '../../core/database/query.ts';
import { ServiceError } from '../../core/errors/errors.ts';
import { History } from '../../core/history/history.ts';
import type { Resolution } from '../../core/history/merge-file.ts';
import { checkOwnText } from '../../core/history/own-text.ts';
import type { ThreeWay } from '../../core/history/three-way.ts';
import { timeSliced } from '../../core/lib/time-slice.ts';
import type { Redaction } from '../../core/memory/secrets/secrets.ts';
import { type Comparison, readReview } from './compare.ts';
import type { DraftIds } from './contents.ts';
import { blockingFiles } from './merge-plan.ts';
import { isTouched } from './pair-files.ts';

/* Checks that a draft's reviewed state and resolutions are still valid. */

/** Returns a file's path in the draft, or else in the original, or else in the base. */
export function reviewPath({ base, draft, original }: ThreeWay): string {
  return (draft ?? original ?? base)?.path ?? '';
}

/** @throws ServiceError if a comparison differs from the reviewed one; the message lists the changed paths */
export async function checkReview(
  query: QueryExecutor,
  ids: DraftIds,
  { files, plan, review }: Pick<Comparison, 'files' | 'plan' | 'review'>,
  reviewed: string,
): Promise<void> {
  const [now, then] = [readReview(review), readReview(reviewed)];
  if (now.hash === then.hash) return;
  const paths = new Set<string>();
  for await (const { base, draft, original } of timeSliced([
    ...files.filter(isTouched),
    ...blockingFiles(plan),
  ]))
    for (const side of [base, draft, original]) if (side !== null) paths.add(side.path);
  const changed = await changedSince(query, ids, reviewed);
  throw new ServiceError(
    'draft_not_reviewed',
    changed.filter((path) => paths.has(path)),
  );
}

/** Number of the latest changes to examine on each side. */
const LATEST = 200;

/** Lists the paths that changed in either memory since a review, from the latest versions. */
export async function changedSince(
  query: QueryExecutor,
  { tenant, draft }: DraftIds,
  reviewed: string,
): Promise<string[]> {
  const { draftAt, originalAt } = readReview(reviewed);
  const history = new History({ query });
  const paths = new Set<string>();
  for (const [of, since] of [
    [draft, draftAt],
    [tenant, originalAt],
  ] as const) {
    for await (const version of history.versions(of, { since }, LATEST)) {
      if (version.createdAt > since && version.path !== null) paths.add(version.path);
    }
  }
  return [...paths].sort();
}

/**
 * Checks resolutions against the tenant's policy on secrets.
 *
 * @returns the resolutions, with secrets masked if the tenant masks secrets
 * @throws ServiceError if the draft did not change a file, or a text is not allowed
 */
export async function checkResolutions(
  redaction: Redaction | undefined,
  files: readonly ThreeWay[],
  resolutions: ReadonlyMap<string, Resolution>,
): Promise<Map<string, Resolution>> {
  const touched = new Map(files.filter(isTouched).map((file) => [file.id, file]));
  const checked = new Map<string, Resolution>();
  for (const [id, resolution] of resolutions) {
    const file = touched.get(id);
    if (file === undefined) throw new ServiceError('draft_file_unknown', id);
    if (typeof resolution === 'string') {
      checked.set(id, resolution);
      continue;
    }
    const path = reviewPath(file);
    if (file.draft === null && file.original === null)
      throw new ServiceError('draft_text_for_deletion', path);
    checked.set(id, { text: await checkOwnText(redaction, path, resolution.text) });
  }
  return checked;
}
