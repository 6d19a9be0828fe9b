import type { Database } from '../database/database.ts';
import { defineQuery, type QueryExecutor, time } from '../database/query.ts';
import { ServiceError } from '../errors/errors.ts';
import { timeSliced, timeSlicedSort } from '../lib/time-slice.ts';
import type { Redaction } from '../memory/secrets/secrets.ts';
import { apply, type ChangeOptions, changeTenant, isChange, planChange, readTimes } from './apply.ts';
import type { Choice, Conflict, RevertResolution, Side } from './conflicts.ts';
import { type Fold, type FoldedFile, fileWithText, toFoldedFile } from './fold.ts';
import { Folds } from './folds.ts';
import type { MergeThreads } from './line-merge.ts';
import type { Changes } from './log.ts';
import { checkOwnText } from './own-text.ts';
import { checkComplete, NOW } from './past.ts';
import type { DirectoryTargets, Plan, RestoreTarget } from './restore-plan.ts';
import { draftsWithChanges } from './revert-drafts.ts';
import { type ActorChanges, findTouched, readTouched, type Touched, type TouchedFile } from './touched.ts';
import { touchedDirectories } from './touched-directories.ts';

/*
 * Reverts an actor's changes. Computes each file's state without these changes (fold.ts) before writers have to wait. A
 * file with a conflict keeps its current state unless the caller resolves the conflict.
 */

/** Selection of changes in a period: by one actor, as in `VersionFilter`, or by all actors. */
export interface RevertSelection {
  by?: string | undefined;
  since: string;
  /** Defaults to now. Later changes by the actor are treated like changes by others. */
  until?: string | undefined;
}

export interface RevertOptions extends ChangeOptions {
  threads: MergeThreads;
  /** Resolutions by file ID. */
  resolutions?: ReadonlyMap<string, RevertResolution>;
  /** Resolution for all other conflicts that allow it. */
  takeAll?: Side | undefined;
  /** Settings that resolution texts must fulfill. */
  settings?: { redaction: Redaction | undefined; maxFileBytes: number };
}

const NO_LIMITS = { redaction: undefined, maxFileBytes: 0 };

export interface Reverted extends Changes {
  conflicts: Conflict[];
  /** IDs of the open drafts that may still contain the changes. A revert does not change them. */
  drafts: string[];
}

/**
 * Returns a value that changes when versions in a tenant are redacted, so that no redacted text is written again.
 */
const redactionsQuery = defineQuery<{ tenant: string }, { count: number; last: string | null }>(
  'count_redactions',
  `
SELECT count(*)::integer AS count, ${time('max(redacted_at)')} AS last
FROM versions WHERE tenant_id = $tenant AND redacted_at IS NOT NULL
`,
);

/**
 * Reverts an actor's changes since a time, or between two times. Removes the actor's lines, creations, deletions, and
 * renames, and keeps the changes by others. The revert uses the three-way merge that drafts use. Empty directories that
 * the actor created are removed, and directories that the actor removed are created again. The revert is atomic. Except
 * in a dry run, the tenant's writers wait while the plan is checked and written.
 *
 * @throws ServiceError if the history is incomplete since that time, the result would exceed the quota, or a resolution
 *   is not allowed
 */
export async function revertActor(
  database: Database,
  tenant: string,
  selection: RevertSelection,
  options: RevertOptions,
): Promise<Reverted> {
  const { threads, takeAll, onProgress = () => {} } = options;
  const found = await changeTenant(database, tenant, { ...options, dryRun: true }, async (query) => {
    const { changes, lastChangeAt } = await readSelection(query, tenant, selection);
    const touched = await findTouched(query, changes, onProgress);
    return { changes, lastChangeAt, touched, redactions: await readRedactions(query, tenant) };
  });
  const { changes } = found;
  const resolutions = await checkResolutions(database.query, tenant, found.touched, options);
  const folds = new Folds(threads, changes);
  // Merges outside the transaction, because merging lines can take long. Versions are immutable.
  await folds.prepare(database.query, found.touched);
  const reverted = await changeTenant(database, tenant, options, async (query) => {
    const { lastChangeAt } = await readSelection(query, tenant, selection);
    const isSame = lastChangeAt === found.lastChangeAt;
    const touched = isSame ? found.touched : await findTouched(query, changes, () => {});
    if ((await readRedactions(query, tenant)) !== found.redactions) folds.clear();
    const files: ResolvedFile[] = [];
    for await (const [file, fold] of timeSliced(folds.read(query, readTouched(query, tenant, touched))))
      files.push(resolveOrTake(file, fold, resolutions.get(file.memoryId), takeAll));
    const directories = await touchedDirectories(query, changes, touched);
    const { plan, conflicts } = await planFiles(query, tenant, files, directories, takeAll);
    const readTargetText = ({ memoryId, to }: RestoreTarget) =>
      folds.readText(query, memoryId, to as FoldedFile);
    const resolves = { by: changes.by, since: changes.since, until: selection.until ?? null };
    const targetOrigin = ({ memoryId }: RestoreTarget) =>
      typeof resolutions.get(memoryId) === 'object' ? { ...options.origin, resolves } : options.origin;
    const made = await apply(query, tenant, plan, options, 'revert', readTargetText, targetOrigin);
    return { ...made, conflicts };
  });
  const drafts = await draftsWithChanges(database.query, changes, found.touched.files.keys());
  return { ...reverted, drafts };
}

/** @throws ServiceError if the history is incomplete since the selection's time */
export async function readSelection(
  query: QueryExecutor,
  tenant: string,
  { by, since, until = NOW }: RevertSelection,
): Promise<{ changes: ActorChanges; lastChangeAt: string | null }> {
  const { from, lastChangeAt } = await readTimes(query, tenant, since);
  await checkComplete(query, tenant, from);
  return { changes: { tenant, by: by ?? null, since: from, until }, lastChangeAt };
}

async function readRedactions(query: QueryExecutor, tenant: string): Promise<string> {
  const [row] = (await query(redactionsQuery, { tenant })).rows;
  return `${row?.count} ${row?.last}`;
}

/**
 * Checks that the actor has changed each resolved file, and that the texts are allowed.
 *
 * @returns the resolutions, with secrets masked if the tenant masks secrets
 */
async function checkResolutions(
  query: QueryExecutor,
  tenant: string,
  { files }: Touched,
  { resolutions = new Map(), settings = NO_LIMITS }: RevertOptions,
): Promise<ReadonlyMap<string, RevertResolution>> {
  const resolved: Touched['files'] = new Map();
  for (const id of resolutions.keys()) {
    const file = files.get(id);
    if (file === undefined) throw new ServiceError('revert_file_unknown', id);
    resolved.set(id, file);
  }
  const checked = new Map<string, RevertResolution>(resolutions);
  for await (const { memoryId, path } of readTouched(query, tenant, { files: resolved })) {
    const resolution = resolutions.get(memoryId);
    if (typeof resolution !== 'object') continue;
    const text = await checkOwnText(settings.redaction, path ?? memoryId, resolution.text);
    if (settings.maxFileBytes > 0 && Buffer.byteLength(text) > settings.maxFileBytes)
      throw new ServiceError('file_too_large', path ?? memoryId, settings.maxFileBytes);
    checked.set(memoryId, { text });
  }
  return checked;
}

/** A file with its target, and its conflict if the file has a conflict or a resolution. */
interface ResolvedFile {
  target: RestoreTarget & { startedAt: string };
  choices: Choice[];
  resolution: RevertResolution | undefined;
  conflict: Conflict | null;
}

/** @throws ServiceError if a text has no path, because the file exists neither now nor in the reverted state */
export function resolve(
  file: TouchedFile,
  { state, conflict: found }: Fold,
  resolution: RevertResolution | undefined,
): ResolvedFile {
  const { memoryId, head, startedAt } = file;
  const from = head && toFoldedFile(head);
  const choices: Choice[] = [
    ...(state === undefined ? [] : ['reverted' as const]),
    'current',
    ...(state || from ? ['text' as const] : []),
  ];
  const target = (to: FoldedFile | null) => ({ memoryId, from, to, startedAt });
  const left = { memoryId, path: file.path, choices };
  const isReverted = state !== undefined && !isChange(target(state));
  const conflict = isReverted ? null : found;
  const withReason = (applied: Choice | null): Conflict => {
    if (conflict === null) return { ...left, resolution: applied, reason: 'resolved' };
    const { reason, changedBy, changedAt } = conflict;
    if (reason === 'pruned' || reason === 'redacted') return { ...left, resolution: applied, reason };
    if (changedBy === null || changedAt === null) throw new Error(`A conflict of ${memoryId} has no author.`);
    return { ...left, resolution: applied, reason, changedBy, changedAt };
  };
  const resolved = { choices, resolution };
  if (resolution === undefined || (resolution === 'reverted' && state === undefined)) {
    if (conflict !== null || state === undefined)
      return { ...resolved, target: target(from), conflict: withReason(null) };
    return { ...resolved, target: target(state), conflict: null };
  }
  if (resolution === 'current') return { ...resolved, target: target(from), conflict: withReason('current') };
  if (resolution === 'reverted')
    return { ...resolved, target: target(state ?? null), conflict: withReason('reverted') };
  const path = state?.path ?? from?.path;
  if (path === undefined) throw new ServiceError('revert_text_for_deletion', file.path ?? memoryId);
  return { ...resolved, target: target(fileWithText(path, resolution.text)), conflict: withReason('text') };
}

/** Resolves a file with its resolution or, if it has a conflict without one, with the side for all conflicts. */
function resolveOrTake(
  file: TouchedFile,
  fold: Fold,
  resolution: RevertResolution | undefined,
  takeAll: Side | undefined,
): ResolvedFile {
  const resolved = resolve(file, fold, resolution);
  const isLeft = resolved.conflict !== null && resolved.conflict.resolution === null;
  if (takeAll === undefined || !isLeft || !resolved.choices.includes(takeAll)) return resolved;
  return resolve(file, fold, takeAll);
}

/** Plans the changes that are possible. A text whose path is occupied is written to its file's current path. */
async function planFiles(
  query: QueryExecutor,
  tenant: string,
  files: readonly ResolvedFile[],
  directories: DirectoryTargets,
  takeAll: Side | undefined,
): Promise<{ plan: Plan<RestoreTarget>; conflicts: Conflict[] }> {
  const planned = await planInOrder(query, tenant, files, directories);
  const byId = new Map(files.map((file) => [file.target.memoryId, file]));
  const stays = new Map<string, ResolvedFile>();
  for (const { target } of planned.blockedTargets) {
    const file = byId.get(target.memoryId);
    if (typeof file?.resolution !== 'object' || target.from === null || target.to === null) continue;
    const to = { ...target.to, path: target.from.path };
    stays.set(target.memoryId, { ...file, target: { ...file.target, to } });
  }
  if (stays.size > 0) {
    const again = files.map((file) => stays.get(file.target.memoryId) ?? file);
    return planFiles(query, tenant, again, directories, takeAll);
  }
  const conflicts = new Map<string, Conflict>();
  for (const { target, conflict } of files) if (conflict !== null) conflicts.set(target.memoryId, conflict);
  for (const { target, blockedBy: at } of planned.blockedTargets) {
    const { memoryId, from, to } = target;
    const choices: Choice[] = from === null ? ['current'] : ['current', 'text'];
    const path = from?.path ?? to?.path ?? null;
    const resolution = takeAll === 'current' ? takeAll : null;
    conflicts.set(memoryId, { memoryId, path, reason: 'occupied', at, resolution, choices });
  }
  const all = [
    ...conflicts.values(),
    ...planned.blockedDirectories.map(({ path, blockedBy: at }): Conflict => {
      return { memoryId: null, path, reason: 'occupied', at, resolution: null, choices: [] };
    }),
  ];
  const byPath = (a: Conflict, b: Conflict) => ((a.path ?? '') < (b.path ?? '') ? -1 : 1);
  return { plan: planned, conflicts: await timeSlicedSort(all, byPath) };
}

/** Reverts the latest change first. If two files were at one path, the file that was changed later gets the path. */
async function planInOrder(
  query: QueryExecutor,
  tenant: string,
  files: readonly ResolvedFile[],
  directories: DirectoryTargets,
): Promise<Plan<RestoreTarget>> {
  const changed = files.map(({ target }) => target).filter(isChange);
  const targets = await timeSlicedSort(changed, (a, b) => (a.startedAt > b.startedAt ? -1 : 1));
  return planChange(query, tenant, targets, directories);
}
