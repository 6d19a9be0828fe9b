import type { Config } from '../../core/config.ts';
import { defineQuery, type QueryExecutor } from '../../core/database/query.ts';
import type { SideFile } from '../../core/history/three-way.ts';
import { type ChangeKind, sideChange } from '../../core/history/three-way.ts';
import { timeSliced, timeSlicedSort } from '../../core/lib/time-slice.ts';
import { DAY_MS } from '../../core/lib/units.ts';
import { lastFileUseQuery } from '../../core/tenants/queries.ts';
import type { BlockedBy } from './blocked-by.ts';
import type { Comparison } from './compare.ts';
import { countChangedFiles, countChangedInBoth, type Draft, draftSizes } from './drafts.ts';
import type { PlannedChange } from './merge-plan.ts';
import { reviewPath } from './review.ts';

/*
 * Computes when drafts were last used and when they expire. Converts drafts and their changes to their public
 * representation, with the fields and names from admin-openapi.yaml.
 */

const listDraftDaysQuery = defineQuery<
  { ids: string[]; draftDays: number },
  { id: string; draftDays: number }
>(
  'list_draft_days',
  `
SELECT id, COALESCE(draft_days, $draftDays::bigint)::float8 AS "draftDays" FROM tenants WHERE id = ANY ($ids::text[])
`,
);

/** Reads the number of days without use after which drafts expire, keyed by tenant ID; 0 means never. */
export async function readDraftDays(
  query: QueryExecutor,
  config: Pick<Config, 'DRAFT_DAYS'>,
  tenants: Iterable<string>,
): Promise<Map<string, number>> {
  const ids = [...new Set(tenants)];
  if (ids.length === 0) return new Map();
  const { rows } = await query(listDraftDaysQuery, { ids, draftDays: config.DRAFT_DAYS });
  return new Map(rows.map(({ id, draftDays }) => [id, draftDays]));
}

/**
 * Returns the time when an open draft was created or last used, in milliseconds. Reads are recorded with one-day
 * resolution.
 */
export async function readLastUse(
  query: QueryExecutor,
  { id, createdAt }: Pick<Draft, 'id' | 'createdAt'>,
): Promise<number> {
  const at = (await query(lastFileUseQuery, { tenant: id })).rows[0]?.at ?? null;
  return Math.max(Date.parse(createdAt), at === null ? 0 : Date.parse(at));
}

/** Computes a draft's expiry in milliseconds; null means never. */
export function expiryAfter(lastUse: number, draftDays: number): number | null {
  return draftDays === 0 ? null : lastUse + draftDays * DAY_MS;
}

/** Converts drafts to their public representation, with their memory sizes and their expiry. */
export async function draftRecords(
  query: QueryExecutor,
  config: Pick<Config, 'DRAFT_DAYS'>,
  drafts: readonly Draft[],
) {
  const open = drafts.filter(({ state }) => state === 'open');
  const sizes = await draftSizes(
    query,
    open.flatMap(({ id, tenant }) => [id, tenant]),
  );
  const draftDays = await readDraftDays(
    query,
    config,
    open.map(({ tenant }) => tenant),
  );
  const records = [];
  for (const draft of drafts) {
    const size = draft.state === 'open' ? sizes.get(draft.id) : undefined;
    const lastUse = size === undefined ? null : await readLastUse(query, draft);
    const expiry = lastUse === null ? null : expiryAfter(lastUse, draftDays.get(draft.tenant) ?? 0);
    const hasChanged = (memory: string) => (sizes.get(memory)?.lastChangeAt ?? '') > draft.baseAt;
    const isChanged = size !== undefined && hasChanged(draft.id);
    records.push({
      id: draft.id,
      tenant: draft.tenant,
      title: draft.title,
      author: draft.author,
      key_id: draft.keyId !== null && draft.author.type === 'api_key' ? draft.author.id : null,
      via_tenant: draft.viaTenant,
      state: draft.state,
      base_at: draft.baseAt,
      created_at: draft.createdAt,
      closed_at: draft.closedAt,
      closed_by: draft.closedBy,
      merged_at: draft.mergedAt,
      files: size?.files ?? null,
      bytes: size?.bytes ?? null,
      changed_files:
        size === undefined ? null : isChanged ? await countChangedFiles(query, draft.id, size.files) : 0,
      changed_in_both:
        size === undefined
          ? null
          : isChanged && hasChanged(draft.tenant)
            ? await countChangedInBoth(query, draft)
            : 0,
      comments: draft.commentCount,
      open_comments: draft.openCommentCount,
      review_request: reviewRequestRecord(draft.reviewRequest),
      last_change_at: size?.lastChangeAt ?? null,
      last_used_at: instant(lastUse),
      expires_at: instant(expiry),
    });
  }
  return records;
}

const reviewRequestRecord = (request: Draft['reviewRequest']) =>
  request && { reviewer: request.reviewer, by: request.author, at: request.createdAt };

export async function draftRecord(
  query: QueryExecutor,
  config: Pick<Config, 'DRAFT_DAYS'>,
  draft: Draft,
): Promise<DraftRecord> {
  const [record] = await draftRecords(query, config, [draft]);
  if (record === undefined) throw new Error('A draft has no record.');
  return record;
}

const instant = (time: number | null) => (time === null ? null : new Date(time).toISOString());

export type DraftRecord = Awaited<ReturnType<typeof draftRecords>>[number];
export type ChangeRecord = Awaited<ReturnType<typeof changeRecords>>[number];

/** Lists the files that changed on either side since the base, ordered by path. */
export async function changeRecords({ files, same, plan }: Comparison) {
  const records = [];
  for await (const file of timeSliced(files)) {
    const inDraft = sideChange(file.base, file.draft, same);
    const inOriginal = sideChange(file.base, file.original, same);
    if (inDraft === null && inOriginal === null) continue;
    const { base, draft } = file;
    records.push({
      memory_id: file.id,
      path: reviewPath(file),
      changed_in: changedSide(inDraft, inOriginal),
      in_draft: inDraft,
      in_original: inOriginal,
      content_changed:
        inDraft !== null && (base === null || draft === null ? inDraft !== 'moved' : !same(base, draft)),
      conflict: plan.conflicts.get(file.id) ?? null,
      blocked_by: blockedByRecord(plan.blockedBy.get(file.id)),
      base: base && { path: base.path, version: base.versionId },
      draft: sideRecord(draft),
      original: sideRecord(file.original),
    });
  }
  return timeSlicedSort(records, (a, b) =>
    a.path === b.path ? (a.memory_id < b.memory_id ? -1 : 1) : a.path < b.path ? -1 : 1,
  );
}

function changedSide(inDraft: ChangeKind | null, inOriginal: ChangeKind | null) {
  if (inDraft === null) return 'original' as const;
  return inOriginal === null ? ('draft' as const) : ('both' as const);
}

/** Maximum blocking files listed by path. A directory may contain any number. */
const MAX_NAMED = 100;

function blockedByRecord(found: BlockedBy | undefined) {
  if (found === undefined) return null;
  const files = found.files.slice(0, MAX_NAMED).flatMap(({ original }) => original?.path ?? []);
  return { path: found.path, file_count: found.files.length, files };
}

function sideRecord(file: SideFile | null) {
  return file && { path: file.path, version: file.versionId, size_bytes: file.sizeBytes };
}

/** Lists a merge's changes, ordered by path. */
export async function mergedFiles(changes: readonly PlannedChange[]) {
  const files = [];
  for await (const change of timeSliced(changes)) files.push(mergedFile(change));
  return timeSlicedSort(files, (a, b) => (a.path < b.path ? -1 : 1));
}

function mergedFile({ file, outcome }: PlannedChange) {
  const { original } = file;
  const where = outcome?.path ?? original?.path ?? '';
  const isMoved = original !== null && outcome !== null && original.path !== outcome.path;
  const change: ChangeKind =
    outcome === null ? 'deleted' : original === null ? 'added' : isMoved ? 'moved' : 'changed';
  return { memory_id: file.id, change, path: where, from: isMoved ? original.path : null };
}
