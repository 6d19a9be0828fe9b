import type { Config } from '../config.ts';
import type { QueryExecutor } from '../postgres/query.ts';
import { timeSliced, timeSlicedSort } from '../util/time-slice.ts';
import type { Comparison } from './compare.ts';
import { countChangedFiles, type Draft, draftSizes } from './drafts.ts';
import type { InTheWay } from './in-the-way.ts';
import type { PlannedChange } from './plan.ts';
import { pathOf } from './review.ts';
import { type ChangeKind, changeOf } from './three-way.ts';
import type { SideFile } from './trees.ts';
import { draftDaysOf, expiryAfter, lastUseOf } from './use.ts';

/* Drafts and their changes as programs get them: the fields and names of admin-openapi.yaml. */

/** Drafts as programs get them, with what their memories take, and when they expire. */
export async function draftRecords(
  query: QueryExecutor,
  config: Pick<Config, 'DRAFT_DAYS'>,
  drafts: readonly Draft[],
) {
  const open = drafts.filter(({ state }) => state === 'open');
  const sizes = await draftSizes(
    query,
    open.map(({ id }) => id),
  );
  const draftDays = await draftDaysOf(
    query,
    config,
    open.map(({ tenant }) => tenant),
  );
  const records = [];
  for (const draft of drafts) {
    const size = sizes.get(draft.id);
    const lastUse = size === undefined ? null : await lastUseOf(query, draft);
    const expiry = lastUse === null ? null : expiryAfter(lastUse, draftDays.get(draft.tenant) ?? 0);
    const isChanged = size !== undefined && size.lastChangeAt > draft.baseAt;
    records.push({
      id: draft.id,
      tenant: draft.tenant,
      title: draft.title,
      author: draft.author,
      key_id: draft.keyId,
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
      last_change_at: size?.lastChangeAt ?? null,
      last_used_at: instant(lastUse),
      expires_at: instant(expiry),
    });
  }
  return records;
}

const instant = (time: number | null) => (time === null ? null : new Date(time).toISOString());

export type DraftRecord = Awaited<ReturnType<typeof draftRecords>>[number];
export type ChangeRecord = Awaited<ReturnType<typeof changeRecords>>[number];

/** The files that changed on either side since the base, in the order of their paths. */
export async function changeRecords({ files, same, plan }: Comparison) {
  const records = [];
  for await (const file of timeSliced(files)) {
    const inDraft = changeOf(file.base, file.draft, same);
    const inOriginal = changeOf(file.base, file.original, same);
    if (inDraft === null && inOriginal === null) continue;
    const { base, draft } = file;
    records.push({
      memory_id: file.id,
      path: pathOf(file),
      changed_in: sideOf(inDraft, inOriginal),
      in_draft: inDraft,
      in_original: inOriginal,
      content_changed:
        inDraft !== null && (base === null || draft === null ? inDraft !== 'moved' : !same(base, draft)),
      conflict: plan.conflicts.get(file.id) ?? null,
      in_the_way: inTheWayRecord(plan.inTheWay.get(file.id)),
      base: base && { path: base.path, version: base.versionId },
      draft: sideRecord(draft),
      original: sideRecord(file.original),
    });
  }
  return timeSlicedSort(records, (a, b) =>
    a.path === b.path ? (a.memory_id < b.memory_id ? -1 : 1) : a.path < b.path ? -1 : 1,
  );
}

function sideOf(inDraft: ChangeKind | null, inOriginal: ChangeKind | null) {
  if (inDraft === null) return 'original' as const;
  return inOriginal === null ? ('draft' as const) : ('both' as const);
}

/** How many files in the way are named: a directory may have any number. */
const MAX_NAMED = 100;

function inTheWayRecord(found: InTheWay | undefined) {
  if (found === undefined) return null;
  const files = found.files.slice(0, MAX_NAMED).flatMap(({ original }) => original?.path ?? []);
  return { path: found.path, file_count: found.files.length, files };
}

function sideRecord(file: SideFile | null) {
  return file && { path: file.path, version: file.versionId, size_bytes: file.sizeBytes };
}

/** What a merge did to the files of the original, in the order of their paths. */
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
