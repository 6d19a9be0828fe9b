import { randomUUID } from 'node:crypto';
import { defineQuery, type QueryExecutor } from '../database/query.ts';
import { ServiceError } from '../errors/errors.ts';
import { timeSliced } from '../lib/time-slice.ts';
import { type Actor, storedOrigin } from '../memory/origin.ts';
import { beginChangeQuery } from '../tenants/queries.ts';
import { type DraftIds, draftContents } from './contents.ts';
import type { Draft } from './drafts.ts';
import type { MergePlan, PlannedChange } from './plan.ts';

/* Applies a planned merge: migrations/functions/memory_merge.sql. */

const clearQuery = defineQuery<
  {
    tenant: string;
    at: string;
    keepsHistory: boolean;
    change: string;
    edited: string[];
    moved: string[];
    leaving: string[];
    deleted: string[];
    deletedBy: number[];
    removed: string[];
    made: string[];
    origins: string[];
  },
  { done: string }
>(
  'merge_clear',
  `
SELECT memory_merge_clear(
  $tenant, $at::text::timestamptz, $keepsHistory::boolean, $change::text::uuid, $edited::text[]::uuid[], $moved::text[]::uuid[], $leaving::text[]::uuid[],
  $deleted::text[], $deletedBy::integer[], $removed::text[], $made::text[], $origins::text[]::jsonb[]
) AS done
`,
);

const writeQuery = defineQuery<
  {
    tenant: string;
    at: string;
    change: string;
    memoryIds: string[];
    paths: string[];
    contents: (string | null)[];
    originOf: number[];
    origins: string[];
    maxHistoryBytes: number | null;
  },
  { done: string }
>(
  'merge_write',
  `
SELECT memory_merge_write(
  $tenant, $at::text::timestamptz, $change::text::uuid, $memoryIds::text[]::uuid[], $paths::text[], $contents::text[], $originOf::integer[], $origins::text[]::jsonb[], $maxHistoryBytes::bigint
) AS done
`,
);

type Proposer = { memoryId: string; actor: Actor | null };

/** Who last changed the live files of a draft, by the ids that they have there. */
const listProposersQuery = defineQuery<{ tenant: string; memoryIds: string[] }, Proposer>(
  'list_proposers',
  `
SELECT f.id::text AS "memoryId", e.origin -> 'actor' AS actor
FROM unnest($memoryIds::text[]::uuid[]) AS f (id), LATERAL (
  SELECT origin FROM entries WHERE tenant_id = $tenant AND memory_id = f.id OFFSET 0
) AS e
`,
);

/** Who deleted files of a draft. */
const listDeletersQuery = defineQuery<{ tenant: string; memoryIds: string[] }, Proposer>(
  'list_deleters',
  `
SELECT f.id::text AS "memoryId", v.origin -> 'actor' AS actor
FROM unnest($memoryIds::text[]::uuid[]) AS f (id), LATERAL (
  SELECT origin FROM versions WHERE tenant_id = $tenant AND memory_id = f.id ORDER BY memory_id DESC, id DESC LIMIT 1
) AS v
`,
);

const hasProposedQuery = defineQuery<
  { tenant: string; memoryIds: string[]; since: string; actorId: string },
  { found: boolean }
>(
  'has_proposed',
  `
SELECT EXISTS (
  SELECT FROM memory_versions AS v
  WHERE v.tenant_id = $tenant AND v.memory_id = ANY ($memoryIds::text[]::uuid[]) AND v.created_at > $since::text::timestamptz
    AND v.origin #>> '{actor,id}' = $actorId
) AS found
`,
);

/** Whether an actor has changed one of some files in a draft, as far as its history tells: others may have changed them after that. */
export async function hasProposed(
  query: QueryExecutor,
  draft: Pick<Draft, 'id' | 'baseAt'>,
  actorId: string,
  changes: readonly PlannedChange[],
): Promise<boolean> {
  const memoryIds = changes.flatMap((change) => idInDraft(change) ?? []);
  const given = { tenant: draft.id, memoryIds, since: draft.baseAt, actorId };
  return (await query(hasProposedQuery, given)).rows[0]?.found ?? false;
}

/** The id that a file has, or had, in the draft. */
function idInDraft({ file }: PlannedChange): string | undefined {
  return (file.draft ?? file.base)?.memoryId;
}

/** Who proposed each of some changes, by the ids of their files: whoever changed the file in the draft last. */
export async function readProposers(
  query: QueryExecutor,
  draft: string,
  changes: readonly PlannedChange[],
): Promise<Map<string, Actor>> {
  const memoryIds = changes.flatMap((change) => idInDraft(change) ?? []);
  const live = (await query(listProposersQuery, { tenant: draft, memoryIds })).rows;
  const actors = new Map<string, Actor | null>();
  for await (const { memoryId, actor } of timeSliced(live)) actors.set(memoryId, actor);
  const left = memoryIds.filter((memoryId) => !actors.has(memoryId));
  const deleted = (await query(listDeletersQuery, { tenant: draft, memoryIds: left })).rows;
  for await (const { memoryId, actor } of timeSliced(deleted)) actors.set(memoryId, actor);
  const proposers = new Map<string, Actor>();
  for await (const change of timeSliced(changes)) {
    const actor = actors.get(idInDraft(change) ?? '');
    if (actor) proposers.set(change.file.id, actor);
  }
  return proposers;
}

export interface MergeWrite extends DraftIds {
  plan: Pick<MergePlan, 'changes' | 'made' | 'removed'>;
  keepsHistory: boolean;
  maxHistoryBytes: number;
  /** Who proposed a change. */
  proposerOf: (change: PlannedChange) => Actor;
  approvedBy: Actor;
  requestId: string | undefined;
}

/**
 * Applies the changes of a plan, all with the same time, in a transaction that has locked the tenant and the draft.
 *
 * @returns that time
 */
export async function writeMerge(query: QueryExecutor, given: MergeWrite): Promise<string> {
  const { tenant, draft, plan, keepsHistory, maxHistoryBytes, approvedBy, requestId } = given;
  const at = (await query(beginChangeQuery, { tenant })).rows[0]?.at;
  if (!at) throw new ServiceError('no_such_tenant', tenant);
  const change = randomUUID();
  const origins = new Origins((actor) => storedOrigin({ actor, requestId, draft, approvedBy }));
  const originOf = (planned: PlannedChange) => origins.indexOf(given.proposerOf(planned));
  const deleted: { path: string; by: number }[] = [];
  const [edited, moved, leaving]: [string[], string[], string[]] = [[], [], []];
  for await (const planned of timeSliced(plan.changes)) {
    const { file, outcome } = planned;
    if (file.original === null) continue;
    const { memoryId, path } = file.original;
    if (outcome === null) {
      deleted.push({ path, by: originOf(planned) });
      continue;
    }
    (outcome.content === 'keep' ? moved : edited).push(memoryId);
    if (outcome.path !== path) leaving.push(memoryId);
  }
  const { made, removed } = plan;
  await query(clearQuery, {
    tenant,
    at,
    keepsHistory,
    change,
    edited,
    moved,
    leaving,
    made,
    removed,
    deleted: deleted.map(({ path }) => path),
    deletedBy: deleted.map(({ by }) => by),
    origins: origins.stored,
  });
  const write = async (changes: PlannedChange[], contents: ReadonlyMap<string, string>) => {
    await query(writeQuery, {
      tenant,
      at,
      change,
      memoryIds: changes.map(({ file }) => file.id),
      paths: changes.map(({ outcome }) => outcome?.path ?? ''),
      contents: changes.map((planned) => contentOf(planned, contents)),
      originOf: changes.map(originOf),
      origins: origins.stored,
      maxHistoryBytes: null,
    });
  };
  const stays = plan.changes.filter(({ outcome }) => outcome !== null);
  for await (const batch of draftContents(query, draft, stays, weightOf)) {
    await write(batch.changes, batch.contents);
  }
  // Counts nothing more, and prunes what the history has too much.
  await query(writeQuery, {
    tenant,
    at,
    change,
    memoryIds: [],
    paths: [],
    contents: [],
    originOf: [],
    origins: [],
    maxHistoryBytes,
  });
  return at;
}

function weightOf({ file, outcome }: PlannedChange): number {
  if (outcome === null || outcome.content === 'keep') return 0;
  return outcome.content === 'draft' ? (file.draft?.sizeBytes ?? 0) : outcome.content.text.length;
}

function contentOf({ file, outcome }: PlannedChange, contents: ReadonlyMap<string, string>): string | null {
  if (outcome === null || outcome.content === 'keep') return null;
  if (outcome.content !== 'draft') return outcome.content.text;
  const content = contents.get(file.draft?.versionId ?? '');
  if (content === undefined) throw new Error('A file of a draft that is locked has no content.');
  return content;
}

/** The different origins of a merge, numbered from 1: a change has as many as it has proposers. */
class Origins {
  readonly stored: string[] = [];
  readonly #storedOf: (actor: Actor) => string;
  readonly #numbers = new Map<string, number>();

  constructor(storedOf: (actor: Actor) => string) {
    this.#storedOf = storedOf;
  }

  indexOf(actor: Actor): number {
    const stored = this.#storedOf(actor);
    const known = this.#numbers.get(stored);
    if (known !== undefined) return known;
    this.stored.push(stored);
    this.#numbers.set(stored, this.stored.length);
    return this.stored.length;
  }
}
