import { defineQuery, type QueryExecutor } from '../../core/database/query.ts';
import { History } from '../../core/history/history.ts';
import type { MergeThreads } from '../../core/history/line-merge.ts';
import { needsLines } from '../../core/history/merge-file.ts';
import type { ThreeTexts } from '../../core/history/merge-lines.ts';
import type { SameContent, SideFile, ThreeWay } from '../../core/history/three-way.ts';
import { batches } from '../../core/lib/pages.ts';
import { timeSliced } from '../../core/lib/time-slice.ts';
import type { PlannedChange } from './merge-plan.ts';

/*
 * Reads the contents in the base, the draft, and the original. The base content is stored in the original's and in the
 * draft's history, and may be pruned from either.
 */

type Versions = { tenant: string; memoryIds: string[]; ids: string[] };

const hashHeadsQuery = defineQuery<Versions, { id: string; sha256: string }>(
  'hash_heads',
  `
SELECT f.id::text AS id, encode(memory_sha256(e.content), 'hex') AS sha256
FROM unnest($memoryIds::text[]::uuid[], $ids::text[]::uuid[]) AS f (memory_id, id), LATERAL (
  SELECT content FROM entries WHERE tenant_id = $tenant AND memory_id = f.memory_id AND version = f.id OFFSET 0
) AS e
`,
);

const hashPastQuery = defineQuery<Pick<Versions, 'tenant' | 'ids'>, { id: string; sha256: string }>(
  'hash_past',
  `
SELECT f.id::text AS id, encode(v.content_sha256, 'hex') AS sha256
FROM unnest($ids::text[]::uuid[]) AS f (id), LATERAL (
  SELECT content_sha256 FROM versions WHERE tenant_id = $tenant AND versions.id = f.id OFFSET 0
) AS v
WHERE v.content_sha256 IS NOT NULL
`,
);

const BATCH = { items: 500, weight: 4 * 1024 * 1024 };

export interface DraftIds {
  tenant: string;
  draft: string;
}

/**
 * Creates a function that compares two versions' contents by hash. A version that is pruned from both histories equals
 * only itself.
 */
export async function compareContents(
  query: QueryExecutor,
  { tenant, draft }: DraftIds,
  files: readonly ThreeWay[],
): Promise<SameContent> {
  const inOriginal = new Map<string, SideFile>();
  const inDraft = new Map<string, SideFile>();
  for await (const sides of timeSliced(files)) {
    const [base, draft, original] = [
      sides.base?.versionId,
      sides.draft?.versionId,
      sides.original?.versionId,
    ];
    if (base === draft && draft === original) continue;
    for (const side of [sides.original, sides.base]) if (side) inOriginal.set(side.versionId, side);
    if (sides.draft) inDraft.set(sides.draft.versionId, sides.draft);
  }
  for await (const id of timeSliced(inDraft.keys())) inOriginal.delete(id);
  const hashes = await readHashes(query, tenant, inOriginal.values());
  for await (const [id, side] of timeSliced(inOriginal)) if (!hashes.has(id)) inDraft.set(id, side);
  const draftHashes = await readHashes(query, draft, inDraft.values());
  for await (const [id, sha256] of timeSliced(draftHashes)) hashes.set(id, sha256);
  return (a, b) => {
    const hash = hashes.get(a.versionId);
    return a.versionId === b.versionId || (hash !== undefined && hash === hashes.get(b.versionId));
  };
}

async function readHashes(
  query: QueryExecutor,
  tenant: string,
  versions: Iterable<SideFile>,
): Promise<Map<string, string>> {
  const hashes = new Map<string, string>();
  for await (const batch of batches(timeSliced(versions), { items: 2000, weight: 2000, weigh: () => 1 })) {
    const ids = batch.map(({ versionId }) => versionId);
    const memoryIds = batch.map(({ memoryId }) => memoryId);
    const heads = (await query(hashHeadsQuery, { tenant, memoryIds, ids })).rows;
    const past = (await query(hashPastQuery, { tenant, ids })).rows;
    for (const { id, sha256 } of [...heads, ...past]) hashes.set(id, sha256);
  }
  return hashes;
}

/**
 * Merges the lines in files that both sides changed, by file ID. Null if the lines conflict or the base content is
 * pruned.
 */
export async function mergeTexts(
  query: QueryExecutor,
  threads: MergeThreads,
  ids: DraftIds,
  files: readonly ThreeWay[],
  same: SameContent,
): Promise<Map<string, string | null>> {
  const merged = new Map<string, string | null>();
  const inLines = files.filter((file) => needsLines(file, same));
  const weigh = ({ draft, original }: ThreeWay) => (draft?.sizeBytes ?? 0) + 2 * (original?.sizeBytes ?? 0);
  for await (const batch of batches(timeSliced(inLines), { ...BATCH, weigh })) {
    const texts = await readTexts(query, ids, batch);
    const known = new Map<string, ThreeTexts>();
    for (const { id } of batch) {
      merged.set(id, null);
      const { base, draft, original } = texts.get(id) ?? NO_TEXTS;
      if (base !== null && draft !== null && original !== null) known.set(id, { base, draft, original });
    }
    for await (const [id, text] of threads.mergeAll(known)) merged.set(id, text);
  }
  return merged;
}

/** A file's contents by side; null if the file does not exist on a side or its content is pruned. */
export type SideTexts = { [Side in keyof ThreeTexts]: string | null };

export const NO_TEXTS: SideTexts = { base: null, draft: null, original: null };

export async function readTexts(
  query: QueryExecutor,
  { tenant, draft }: DraftIds,
  files: readonly ThreeWay[],
): Promise<Map<string, SideTexts>> {
  const history = new History({ query });
  const read = (of: string, sides: (SideFile | null)[]) =>
    history.contents(
      of,
      sides.flatMap((side) => side ?? []),
    );
  const drafts = await read(
    draft,
    files.map((file) => file.draft),
  );
  const originals = await read(
    tenant,
    files.flatMap(({ original, base }) => [original, base]),
  );
  const lost = files.flatMap(({ base }) => (base && !originals.has(base.versionId) ? [base] : []));
  const bases = await read(draft, lost);
  const sideText = (side: SideFile | null, ...from: Map<string, string>[]) =>
    side === null ? null : (from.find((texts) => texts.has(side.versionId))?.get(side.versionId) ?? null);
  return new Map(
    files.map((file) => [
      file.id,
      {
        base: sideText(file.base, originals, bases),
        draft: sideText(file.draft, drafts),
        original: sideText(file.original, originals),
      },
    ]),
  );
}

/** Yields batches of changes with the contents that they copy from the draft. */
export async function* draftContents(
  query: QueryExecutor,
  draft: string,
  changes: Iterable<PlannedChange>,
  weigh: (change: PlannedChange) => number,
): AsyncGenerator<{ changes: PlannedChange[]; contents: Map<string, string> }> {
  const history = new History({ query });
  for await (const batch of batches(timeSliced(changes), { ...BATCH, weigh })) {
    const files = batch.flatMap(({ file, outcome }) =>
      outcome?.content === 'draft' && file.draft !== null ? [file.draft] : [],
    );
    yield { changes: batch, contents: await history.contents(draft, files) };
  }
}
