import type { Config } from '../../core/config.ts';
import type { Database } from '../../core/database/database.ts';
import type { QueryExecutor } from '../../core/database/query.ts';
import { ServiceError } from '../../core/errors/errors.ts';
import { findExceededQuota } from '../../core/history/change.ts';
import type { MergeThreads } from '../../core/history/line-merge.ts';
import type { Resolution } from '../../core/history/merge-file.ts';
import type { ThreeWay } from '../../core/history/three-way.ts';
import { timeSliced } from '../../core/lib/time-slice.ts';
import type { Actor } from '../../core/memory/origin.ts';
import { type KeptOutTexts, redactionFor } from '../../core/memory/secrets/kept-out.ts';
import type { Redaction } from '../../core/memory/secrets/secrets.ts';
import { effectiveSettings, tenantDefaults } from '../../core/tenants/effective-settings.ts';
import { lockTenantQuery, type TenantRow } from '../../core/tenants/queries.ts';
import { rejectArchived } from '../../core/tenants/stores.ts';
import { quotaExceeded, requireTenant } from '../../core/tenants/tenants.ts';
import { loadSecretScanner } from '../secrets/load-scanner.ts';
import { closeLocked, deleteMemory } from './close.ts';
import { compareDraft, readFiles, readReview, reviewFingerprint } from './compare.ts';
import { compareContents, type DraftIds } from './contents.ts';
import { type Draft, findDraft, findOpenDraft } from './drafts.ts';
import {
  blockingFiles,
  type MergePlan,
  type PlannedChange,
  planMerge,
  planReplacement,
} from './merge-plan.ts';
import { MergeSecrets } from './merge-secrets.ts';
import { isTouched } from './pair-files.ts';
import { changedSince, checkResolutions, checkReview, reviewPath } from './review.ts';
import { hasProposed, newSize, readProposers, writeMerge } from './write.ts';

/** @throws ServiceError if the result would exceed a quota. A merge that does not grow the memory always fits. */
async function checkQuotas(
  query: QueryExecutor,
  row: TenantRow,
  plan: MergePlan,
  config: Config,
): Promise<void> {
  const sizes = plan.changes.map((change) => ({
    from: change.file.original,
    to: change.outcome && { sizeBytes: newSize(change) },
  }));
  const exceeded = await findExceededQuota(query, row.id, plan, sizes, effectiveSettings(row, config));
  if (exceeded !== null) throw quotaExceeded(row.id, exceeded, 'merge');
}

/** @throws ServiceError if a file would exceed the memory's maximum file size */
export async function checkFileSizes(
  changes: readonly PlannedChange[],
  row: TenantRow,
  config: Config,
): Promise<void> {
  const { maxFileBytes } = effectiveSettings(row, config);
  if (maxFileBytes === 0) return;
  for await (const change of timeSliced(changes)) {
    const { outcome } = change;
    if (outcome === null || outcome.content === 'keep' || newSize(change) <= maxFileBytes) continue;
    throw new ServiceError('file_too_large', outcome.path, maxFileBytes);
  }
}

/** @throws ServiceError if the plan has conflicts; the message lists the files to resolve */
export function requireResolved(
  plan: MergePlan,
  files: readonly ThreeWay[],
  resolutions: ReadonlyMap<string, Resolution>,
): MergePlan {
  if (plan.conflicts.size === 0) return plan;
  const left = files.filter((file) => isTouched(file) && plan.conflicts.has(file.id));
  const open = left.filter(({ id }) => !resolutions.has(id));
  if (open.length > 0) {
    const named = open.map((file) => {
      const other = findObstacle(file, plan);
      const isOccupied = plan.conflicts.get(file.id) === 'occupied';
      return isOccupied && other !== null
        ? `${reviewPath(file)} (blocked by: ${other.path})`
        : reviewPath(file);
    });
    throw new ServiceError('draft_conflicts', named.sort());
  }
  // All remaining files are resolved, but their paths are still blocked.
  const inOrder = left.toSorted((a, b) => (reviewPath(a) < reviewPath(b) ? -1 : 1));
  // Prefers a file whose blocker is not waiting for another of these files.
  const unresolved = new Set(left);
  const waits = (file: ThreeWay) => {
    const obstacle = findObstacle(file, plan)?.file;
    return obstacle != null && unresolved.has(obstacle);
  };
  const first = inOrder.find((file) => !waits(file)) ?? inOrder[0];
  const other = first && findObstacle(first, plan);
  if (!first || !other) throw new Error('A merge has a conflict of a file that nothing blocks.');
  if (resolutions.get(first.id) !== 'draft')
    throw new ServiceError('draft_text_blocked_by', reviewPath(first), other.path);
  const elsewhere = other.file && !resolutions.has(other.file.id) ? reviewPath(other.file) : null;
  throw new ServiceError('draft_blocked_by', reviewPath(first), other.path, elsewhere);
}

/** Finds the file or empty directory that still blocks a file, preferring a file without a conflict. */
function findObstacle({ id }: ThreeWay, { conflicts, blockedBy }: MergePlan) {
  const found = blockedBy.get(id);
  if (found === undefined) return null;
  const file = found.files.find((each) => !conflicts.has(each.id)) ?? found.files[0];
  return { path: file?.original?.path ?? found.path, file: file ?? null };
}

export interface MergeOptions {
  config: Config;
  threads: MergeThreads;
  approver: Actor;
  requestId?: string | undefined;
  /** The reviewed comparison's fingerprint. */
  review: string;
  /** Texts that are kept out of the memory; undefined for none. */
  keptOut?: KeptOutTexts | undefined;
}

export interface Merged extends Pick<MergePlan, 'changes' | 'made' | 'removed'> {
  draft: Draft;
  /** Time that all the merge's versions share; null if the merge changed no files or directories. */
  mergedAt: string | null;
}

/**
 * Merges a draft into its original as reviewed, and closes the draft. The merge is atomic and appears as one change in
 * the history. Slow work runs before writers have to wait.
 *
 * @param resolutions resolutions by file ID, as in the comparison
 * @throws ServiceError if the draft is closed, a memory differs from its reviewed state, a conflict is unresolved, the
 *   approver proposed a change, or the result would exceed a limit
 */
export async function mergeDraft(
  database: Database,
  ids: DraftIds,
  resolutions: ReadonlyMap<string, Resolution>,
  options: MergeOptions,
): Promise<Merged> {
  const { threads, review } = options;
  const compared = await compareDraft(database, threads, ids);
  await checkReview(database.query, ids, compared, review);
  const row = await requireTenant(database, ids.tenant);
  const redaction = await readMergeRedaction(row, options);
  const resolved = await checkResolutions(redaction, compared.files, resolutions);
  const secrets = new MergeSecrets(ids);
  if (redaction !== undefined) await secrets.scan(database.query, redaction, compared.plan);
  return finish(database, { ...ids, secrets }, 'merged', options, async (query) => {
    const { sides, files } = await readFiles(query, ids);
    const touched = files.filter(isTouched);
    const input = { sides, files, texts: compared.texts };
    const same = await compareContents(query, ids, touched);
    // This plan is compared with the review, because the merged files may have changed in the meantime.
    const shown = await planMerge({ ...input, same, resolutions: new Map() });
    await checkReview(
      query,
      ids,
      { files, plan: shown, review: await reviewFingerprint(sides, files, shown) },
      review,
    );
    if (resolved.size === 0) return requireResolved(shown, files, resolved);
    const untouched = blockingFiles(shown).filter((file) => !isTouched(file));
    const plan = await planMerge({
      ...input,
      same: untouched.length === 0 ? same : await compareContents(query, ids, [...touched, ...untouched]),
      resolutions: resolved,
    });
    return requireResolved(plan, files, resolved);
  });
}

/** Returns how a merge handles secrets, and texts that are kept out of the original. */
async function readMergeRedaction(
  row: TenantRow,
  { config, keptOut }: Pick<MergeOptions, 'config' | 'keptOut'>,
): Promise<Redaction | undefined> {
  return redactionFor(effectiveSettings(row, config).secrets, await loadSecretScanner(), keptOut);
}

/**
 * Makes a memory identical to its draft as reviewed, and closes the draft.
 *
 * @throws ServiceError as for `mergeDraft`, and if either memory has changed at all since the review
 */
export async function replaceByDraft(
  database: Database,
  ids: DraftIds,
  options: MergeOptions,
): Promise<Merged> {
  const reviewed = readReview(options.review);
  const secrets = new MergeSecrets(ids);
  const row = await requireTenant(database, ids.tenant);
  const redaction = await readMergeRedaction(row, options);
  if (redaction !== undefined) {
    const plan = await database.transaction((query) => planReplacementIn(query, ids), { snapshot: true });
    await secrets.scan(database.query, redaction, plan);
  }
  return finish(database, { ...ids, secrets }, 'replaced', options, async (query) => {
    const { sides, files } = await readFiles(query, ids);
    if (sides.draftAt !== reviewed.draftAt || sides.originalAt !== reviewed.originalAt) {
      throw new ServiceError('draft_not_reviewed', await changedSince(query, ids, options.review));
    }
    return planReplacement({ sides, files, same: await compareContents(query, ids, files) });
  });
}

async function planReplacementIn(query: QueryExecutor, ids: DraftIds): Promise<MergePlan> {
  const { sides, files } = await readFiles(query, ids);
  return planReplacement({ sides, files, same: await compareContents(query, ids, files) });
}

/**
 * Writes a merge and closes the draft.
 *
 * @param planIn plans the merge in the transaction, which has locked both memories
 */
async function finish(
  database: Database,
  { secrets, ...ids }: DraftIds & { secrets: MergeSecrets },
  state: 'merged' | 'replaced',
  { config, keptOut, approver, requestId }: MergeOptions,
  planIn: (query: QueryExecutor) => Promise<MergePlan>,
): Promise<Merged> {
  const { tenant, draft: id } = ids;
  const { plan, mergedAt } = await database.transaction(async (query) => {
    // Always locked in this order, so that two merges cannot deadlock.
    if ((await query(lockTenantQuery, { tenant })).rows.length === 0)
      throw new ServiceError('no_such_tenant', tenant);
    await query(lockTenantQuery, { tenant: id });
    await rejectArchived(query, tenant);
    const draft = await findOpenDraft(query, tenant, id);
    const row = await requireTenant({ query }, tenant);
    const plan = await secrets.apply(
      query,
      await readMergeRedaction(row, { config, keptOut }),
      await planIn(query),
    );
    const proposers = await readProposers(query, id, plan.changes);
    const author = { actor: draft.author, viaTenant: draft.viaTenant ?? undefined };
    const findProposer = ({ file }: PlannedChange) =>
      (isTouched(file) ? proposers.get(file.id) : undefined) ?? author;
    const proposed = plan.changes.filter(({ file }) => isTouched(file));
    const isPersonal = approver.type === 'admin_key' || approver.type === 'user';
    if (isPersonal && (await hasProposed(query, draft, approver.id, proposed)))
      throw new ServiceError('own_draft');
    let mergedAt: string | null = null;
    if (plan.changes.length + plan.made.length + plan.removed.length > 0) {
      await checkFileSizes(plan.changes, row, config);
      await checkQuotas(query, row, plan, config);
      mergedAt = await writeMerge(query, {
        ...ids,
        plan,
        limits: tenantDefaults(config),
        findProposer,
        approvedBy: approver,
        requestId,
      });
    }
    await closeLocked(query, ids, { state, by: approver, mergedAt });
    return { plan, mergedAt };
  });
  // The merge is committed. If the deletion fails, the hourly job completes it.
  await deleteMemory(database, id).catch(() => {});
  const { changes, made, removed } = plan;
  return { draft: await findDraft(database.query, tenant, id), mergedAt, changes, made, removed };
}
