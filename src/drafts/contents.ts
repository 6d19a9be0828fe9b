import { History } from '../history/history.ts';
import { defineQuery, type QueryExecutor } from '../postgres/query.ts';
import { batches } from '../util/batches.ts';
import { type MergeThreads, mergedText, type ThreeTexts } from './line-merge.ts';
import { needsLines } from './merge-file.ts';
import type { PlannedChange } from './plan.ts';
import type { SameContent, ThreeWay } from './three-way.ts';
import type { SideFile } from './trees.ts';

/* The contents of the three sides. That of the base is in the history of the original, and in that of the draft: one of them may be pruned. */

type Versions = { tenant: string; memoryIds: string[]; ids: string[] };

/** The hashes of live versions among those given. */
const hashHeadsQuery = defineQuery<Versions, { id: string; sha256: string }>(
  'hash_heads',
  ['tenant', 'memoryIds', 'ids'],
  `
SELECT f.id::text AS id, encode(memory_sha256(e.content), 'hex') AS sha256
FROM unnest($2::text[]::uuid[], $3::text[]::uuid[]) AS f (memory_id, id), LATERAL (
  SELECT content FROM entries WHERE tenant_id = $1 AND memory_id = f.memory_id AND version = f.id OFFSET 0
) AS e
`,
);

/** The hashes of superseded versions among those given. */
const hashPastQuery = defineQuery<Pick<Versions, 'tenant' | 'ids'>, { id: string; sha256: string }>(
  'hash_past',
  ['tenant', 'ids'],
  `
SELECT f.id::text AS id, encode(v.content_sha256, 'hex') AS sha256
FROM unnest($2::text[]::uuid[]) AS f (id), LATERAL (
  SELECT content_sha256 FROM versions WHERE tenant_id = $1 AND versions.id = f.id OFFSET 0
) AS v
WHERE v.content_sha256 IS NOT NULL
`,
);

const BATCH = { items: 500, weight: 4 * 1024 * 1024 };

export interface DraftIds {
  tenant: string;
  draft: string;
}

/** Finds which files have the same content. A version that no history has anymore equals only itself. */
export async function compareContents(
  query: QueryExecutor,
  { tenant, draft }: DraftIds,
  files: readonly ThreeWay[],
): Promise<SameContent> {
  const inOriginal = new Map<string, SideFile>();
  const inDraft = new Map<string, SideFile>();
  for (const sides of files) {
    if (new Set([sides.base, sides.draft, sides.original].map((side) => side?.versionId)).size === 1)
      continue;
    for (const side of [sides.original, sides.base]) if (side) inOriginal.set(side.versionId, side);
    if (sides.draft) inDraft.set(sides.draft.versionId, sides.draft);
  }
  for (const id of inDraft.keys()) inOriginal.delete(id);
  const hashes = await hashesOf(query, tenant, inOriginal.values());
  for (const [id, side] of inOriginal) if (!hashes.has(id)) inDraft.set(id, side);
  for (const [id, sha256] of await hashesOf(query, draft, inDraft.values())) hashes.set(id, sha256);
  return (a, b) => {
    const hash = hashes.get(a.versionId);
    return a.versionId === b.versionId || (hash !== undefined && hash === hashes.get(b.versionId));
  };
}

async function hashesOf(
  query: QueryExecutor,
  tenant: string,
  versions: Iterable<SideFile>,
): Promise<Map<string, string>> {
  const hashes = new Map<string, string>();
  for await (const batch of batches(each(versions), { items: 2000, weight: 2000, weightOf: () => 1 })) {
    const ids = batch.map(({ versionId }) => versionId);
    const memoryIds = batch.map(({ memoryId }) => memoryId);
    const heads = (await query(hashHeadsQuery, { tenant, memoryIds, ids })).rows;
    const past = (await query(hashPastQuery, { tenant, ids })).rows;
    for (const { id, sha256 } of [...heads, ...past]) hashes.set(id, sha256);
  }
  return hashes;
}

async function* each<T>(items: Iterable<T>): AsyncGenerator<T> {
  yield* items;
}

/** Merges the lines of the files that both sides changed. Null where they conflict, or where the base has been pruned. */
export async function mergeTexts(
  query: QueryExecutor,
  threads: MergeThreads,
  ids: DraftIds,
  files: readonly ThreeWay[],
  same: SameContent,
): Promise<Map<string, string | null>> {
  const merged = new Map<string, string | null>();
  const inLines = files.filter((file) => needsLines(file, same));
  const weightOf = ({ draft, original }: ThreeWay) =>
    (draft?.sizeBytes ?? 0) + 2 * (original?.sizeBytes ?? 0);
  for await (const batch of batches(each(inLines), { ...BATCH, weightOf })) {
    const texts = await readTexts(query, ids, batch);
    for (const file of batch) {
      const { base, draft, original } = texts.get(file.id) ?? { base: null, draft: null, original: null };
      const isKnown = base !== null && draft !== null && original !== null;
      const regions = isKnown ? await threads.merge({ base, draft, original }) : null;
      merged.set(file.id, regions === null ? null : mergedText(regions));
    }
  }
  return merged;
}

/** Contents by side; null where there is no file, or its content has been pruned. */
export type SideTexts = { [Side in keyof ThreeTexts]: string | null };

/** Reads the contents of files by their ids. */
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
  const textOf = (side: SideFile | null, ...from: Map<string, string>[]) =>
    side === null ? null : (from.find((texts) => texts.has(side.versionId))?.get(side.versionId) ?? null);
  return new Map(
    files.map((file) => [
      file.id,
      {
        base: textOf(file.base, originals, bases),
        draft: textOf(file.draft, drafts),
        original: textOf(file.original, originals),
      },
    ]),
  );
}

/** The contents that changes take from the draft, a batch of changes at a time. */
export async function* draftContents(
  query: QueryExecutor,
  draft: string,
  changes: Iterable<PlannedChange>,
  weightOf: (change: PlannedChange) => number,
): AsyncGenerator<{ changes: PlannedChange[]; contents: Map<string, string> }> {
  const history = new History({ query });
  for await (const batch of batches(each(changes), { ...BATCH, weightOf })) {
    const files = batch.flatMap(({ file, outcome }) =>
      outcome?.content === 'draft' && file.draft !== null ? [file.draft] : [],
    );
    yield { changes: batch, contents: await history.contents(draft, files) };
  }
}
