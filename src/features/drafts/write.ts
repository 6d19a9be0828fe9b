import { defineQuery, type QueryExecutor } from '../../core/database/query.ts';
import { type ChangedFile, type WrittenFile, writeChange } from '../../core/history/change.ts';
import { timeSliced } from '../../core/lib/time-slice.ts';
import type { TenantDefaults } from '../../core/memory/memory-store.ts';
import { type Actor, type Origin, storedOrigin } from '../../core/memory/origin.ts';
import { type DraftIds, draftContents } from './contents.ts';
import type { Draft } from './drafts.ts';
import type { MergePlan, PlannedChange } from './merge-plan.ts';

/* Writes a planned merge. Each change is attributed to the actor who proposed it. */

/** A change's proposer, with the tenant whose mount was used. */
export type Proposer = Pick<Origin, 'actor' | 'viaTenant'>;

type FoundProposer = { memoryId: string; actor: Actor | null; viaTenant: string | null };

const PROPOSER = (origin: string) =>
  `${origin} -> 'actor' AS actor, ${origin} ->> 'viaTenant' AS "viaTenant"`;

/** Finds the last editors of existing files in a draft, by the file IDs in the draft. */
const listProposersQuery = defineQuery<{ tenant: string; memoryIds: string[] }, FoundProposer>(
  'list_proposers',
  `
SELECT f.id::text AS "memoryId", ${PROPOSER('e.origin')}
FROM unnest($memoryIds::text[]::uuid[]) AS f (id), LATERAL (
  SELECT origin FROM entries WHERE tenant_id = $tenant AND memory_id = f.id OFFSET 0
) AS e
`,
);

const listDeletersQuery = defineQuery<{ tenant: string; memoryIds: string[] }, FoundProposer>(
  'list_deleters',
  `
SELECT f.id::text AS "memoryId", ${PROPOSER('v.origin')}
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
  WHERE v.tenant_id = $tenant AND v.memory_id = ANY ($memoryIds::text[]::uuid[])
    AND v.created_at > $since::text::timestamptz
    AND v.origin #>> '{actor,id}' = $actorId
) AS found
`,
);

/**
 * Whether an actor has changed any file in a draft, even if others changed the file later. Considers only versions that
 * are still kept.
 */
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

function idInDraft({ file }: PlannedChange): string | undefined {
  return (file.draft ?? file.base)?.memoryId;
}

/** Finds the actor who last changed each file in the draft, keyed by file ID. */
export async function readProposers(
  query: QueryExecutor,
  draft: string,
  changes: readonly PlannedChange[],
): Promise<Map<string, Proposer>> {
  const memoryIds = changes.flatMap((change) => idInDraft(change) ?? []);
  const live = (await query(listProposersQuery, { tenant: draft, memoryIds })).rows;
  const found = new Map<string, FoundProposer>();
  for await (const each of timeSliced(live)) found.set(each.memoryId, each);
  const left = memoryIds.filter((memoryId) => !found.has(memoryId));
  const deleted = (await query(listDeletersQuery, { tenant: draft, memoryIds: left })).rows;
  for await (const each of timeSliced(deleted)) found.set(each.memoryId, each);
  const proposers = new Map<string, Proposer>();
  for await (const change of timeSliced(changes)) {
    const { actor, viaTenant } = found.get(idInDraft(change) ?? '') ?? {};
    if (actor) proposers.set(change.file.id, { actor, viaTenant: viaTenant ?? undefined });
  }
  return proposers;
}

export interface MergeWrite extends DraftIds {
  plan: Pick<MergePlan, 'changes' | 'made' | 'removed'>;
  limits: TenantDefaults;
  findProposer: (change: PlannedChange) => Proposer;
  approvedBy: Actor;
  requestId: string | undefined;
}

/**
 * Writes a plan's changes in a transaction that has locked the tenant and the draft. Returns the time shared by all
 * changes.
 */
export async function writeMerge(query: QueryExecutor, given: MergeWrite): Promise<string> {
  const { tenant, draft, plan, findProposer, approvedBy, requestId } = given;
  const changedFile = (planned: PlannedChange): ChangedFile => {
    const { file, outcome } = planned;
    return {
      memoryId: file.id,
      from: file.original?.path ?? null,
      to: outcome?.path ?? null,
      isEdited: outcome !== null && outcome.content !== 'keep',
      origin: storedOrigin({ ...findProposer(planned), requestId, draft, approvedBy }),
    };
  };
  const files: ChangedFile[] = [];
  for await (const planned of timeSliced(plan.changes)) files.push(changedFile(planned));
  const writeBatches = async function* (): AsyncGenerator<WrittenFile[]> {
    const kept = plan.changes.filter(({ outcome }) => outcome !== null);
    const weigh = (planned: PlannedChange) => (planned.outcome?.content === 'keep' ? 0 : newSize(planned));
    for await (const { changes, contents } of draftContents(query, draft, kept, weigh))
      yield changes.flatMap((planned) => {
        const file = changedFile(planned);
        const { to } = file;
        return to === null ? [] : [{ ...file, to, text: newText(planned, contents), version: null }];
      });
  };
  return writeChange(query, tenant, { ...plan, files }, writeBatches(), given.limits, approvedBy);
}

export function newSize({ file, outcome }: PlannedChange): number {
  if (outcome === null) return 0;
  if (outcome.content === 'keep') return file.original?.sizeBytes ?? 0;
  return outcome.content === 'draft' ? (file.draft?.sizeBytes ?? 0) : Buffer.byteLength(outcome.content.text);
}

/** Returns a file's new text; null if the content is unchanged. */
function newText({ file, outcome }: PlannedChange, contents: ReadonlyMap<string, string>): string | null {
  if (outcome === null || outcome.content === 'keep') return null;
  if (outcome.content !== 'draft') return outcome.content.text;
  const version = file.draft?.versionId ?? '';
  const content = contents.get(version);
  if (content === undefined) throw new Error(`Version ${version} in the locked draft has no content.`);
  return content;
}
