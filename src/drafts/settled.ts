import { ServiceError } from '../errors.ts';
import type { Resolution } from './merge-file.ts';
import type { MergePlan } from './plan.ts';
import { pathOf } from './review.ts';
import { isTouched, type ThreeWay } from './three-way.ts';

/** @throws ServiceError that says what to settle, when a plan leaves conflicts. */
export function requireSettled(
  plan: MergePlan,
  files: readonly ThreeWay[],
  resolutions: ReadonlyMap<string, Resolution>,
): MergePlan {
  if (plan.conflicts.size === 0) return plan;
  const left = files.filter((file) => isTouched(file) && plan.conflicts.has(file.id));
  const open = left.filter(({ id }) => !resolutions.has(id));
  if (open.length > 0) {
    const named = open.map((file) => {
      const other = obstacleTo(file, plan);
      const isOccupied = plan.conflicts.get(file.id) === 'occupied';
      return isOccupied && other !== null ? `${pathOf(file)} (in its way: ${other.path})` : pathOf(file);
    });
    throw new ServiceError('draft_conflicts', named.sort());
  }
  // What still blocks a settled file. A file that was not settled itself is here only if it has no free path either.
  const inOrder = left.toSorted((a, b) => (pathOf(a) < pathOf(b) ? -1 : 1));
  // Not one that only waits for another one of them.
  const unsettled = new Set(left);
  const waits = (file: ThreeWay) => {
    const obstacle = obstacleTo(file, plan)?.file;
    return obstacle != null && unsettled.has(obstacle);
  };
  const first = inOrder.find((file) => !waits(file)) ?? inOrder[0];
  const other = first && obstacleTo(first, plan);
  if (!first || !other) throw new Error('A merge has a conflict of a file that nothing is in the way of.');
  if (resolutions.get(first.id) !== 'draft')
    throw new ServiceError('draft_text_in_the_way', pathOf(first), other.path);
  const elsewhere = other.file && !resolutions.has(other.file.id) ? pathOf(other.file) : null;
  throw new ServiceError('draft_in_the_way', pathOf(first), other.path, elsewhere);
}

/** What stays in the way of a file, first of all what is no conflict itself: a file, or the directory if it is empty. */
function obstacleTo({ id }: ThreeWay, { conflicts, inTheWay }: MergePlan) {
  const found = inTheWay.get(id);
  if (found === undefined) return null;
  const file = found.files.find((each) => !conflicts.has(each.id)) ?? found.files[0];
  return { path: file?.original?.path ?? found.path, file: file ?? null };
}
