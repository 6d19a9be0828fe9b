import type { Database } from '../../core/database/database.ts';
import { defineQuery, time } from '../../core/database/query.ts';
import { ServiceError } from '../../core/errors/errors.ts';
import { History } from '../../core/history/history.ts';
import type { Operation } from '../../core/history/version.ts';
import { batches } from '../../core/lib/pages.ts';
import { type Actor, type Origin, originActor } from '../../core/memory/origin.ts';
import { ROOT } from '../../core/memory/path.ts';
import { excerptAt } from '../search/excerpt.ts';
import { invalidExpression, readSearchInput, tooMuchWork } from '../search/input.ts';
import { MODES, type Mode } from '../search/modes.ts';
import type { MemorySearch } from '../search/search.ts';
import type { Where } from '../search/search-query.ts';
import { soughtUnits } from './compared-text.ts';
import { createJobFinder, type Finder, type FindRequest, type FoundPage, type Hit } from './find.ts';
import type { FindQuery } from './find-scan.ts';
import { FoundActors } from './found-actors.ts';
import type { JobKind, TenantResult, TenantRun } from './job-kind.ts';
import { type Counts, findOutcome, type RunningJob } from './jobs.ts';

/** Name of this job kind. */
export const FIND = 'find';

/** A stored find's request, without its text. */
export interface StoredFindRequest extends Omit<FindRequest, 'query'> {
  mode: Mode;
  where: Where;
  /** Only for the mode `literal`. Otherwise, a literal text is compared in its normal form. */
  isExact: boolean;
  /** Only for an exact comparison. */
  ignoresCase: boolean;
}

export interface FindTexts {
  text: string;
}

/** Limits on hits that are stored for a tenant, and for a job. Further hits are only counted. */
const MAX_HITS = { tenant: 1000, job: 100_000 };

/** A hit as stored. The hit contains no text, so that a text that is redacted later is in no job. */
type StoredHit = Omit<Hit, 'tenant' | 'path' | 'origin' | 'at'> & { memoryId: string; versionId: string };

/**
 * Reads a find's query.
 *
 * @throws ServiceError for the same texts as a search, except for expressions, which `checkExpression` compiles
 */
export function findQuery(
  { mode, where, isExact, ignoresCase }: StoredFindRequest,
  { text }: FindTexts,
): FindQuery {
  const read = readSearchInput({ query: text, mode }, where);
  if (!read.ok) throw new ServiceError('invalid_search', read.rejection);
  const { query } = read.request;
  if (query.mode !== 'literal') return query;
  if (isExact) return { ...query, ignoresCase };
  const isEmpty = soughtUnits({ text: query.text, isExact, ignoresCase }) === '';
  if (isEmpty) throw new ServiceError('invalid_search', 'it has only white space: use `exact`');
  return { mode: 'normalized', text: query.text, where };
}

/** @throws ServiceError if the expression is invalid */
export async function checkExpression(
  search: MemorySearch,
  query: FindQuery,
  signal: AbortSignal,
): Promise<void> {
  if (query.mode === 'normalized' || !MODES[query.mode].compiles) return;
  const noFiles = { page: async () => [], read: async () => [], has: async () => true };
  const found = await search.find('', noFiles, { query, path: ROOT, maxResults: 1 }, signal);
  if (found.kind === 'invalid_expression')
    throw new ServiceError('invalid_search', invalidExpression(found.problem));
  if (found.kind === 'too_much_work') throw new ServiceError('invalid_search', tooMuchWork);
}

/** Returns the job kind that finds a text in each tenant. */
export function findJobs(database: Database): JobKind {
  const { finder, thread } = createJobFinder(database);
  return {
    kind: FIND,
    readCount: 'versions',
    work: (job, tenant, run) => findForJob(finder, job, tenant, run),
    close: () => thread.close(),
  };
}

async function findForJob(
  finder: Finder,
  job: RunningJob,
  tenant: string,
  { signal, turn, report }: TenantRun,
): Promise<TenantResult> {
  const { by, since, until, places, ...stored } = job.request as StoredFindRequest;
  const query = findQuery({ by, since, until, places, ...stored }, job.texts as FindTexts);
  const found = new FoundInTenant(job);
  for await (const page of finder.find(tenant, { query, by, since, until, places }, signal, turn)) {
    found.add(page);
    report(found.counts());
  }
  return found.result();
}

/** The first hits in a tenant. */
export class FirstHits {
  readonly #maxHits: number;
  readonly stored: StoredHit[] = [];

  constructor({ counts }: Pick<RunningJob, 'counts'>) {
    this.#maxHits = Math.min(MAX_HITS.tenant, MAX_HITS.job - (counts.hits ?? 0));
  }

  /** Adds the hit unless it is a directory, or too many hits are stored. */
  add({ tenant: _, path: _path, origin: _origin, at: _at, memoryId, versionId, ...hit }: Hit): void {
    if (memoryId === null || versionId === null || this.stored.length >= this.#maxHits) return;
    this.stored.push({ ...hit, memoryId, versionId });
  }
}

/** Counts the hits in a tenant, and keeps the first hits. */
class FoundInTenant {
  readonly #hits: FirstHits;
  readonly #actors = new FoundActors();
  readonly #counts = {
    files: 0,
    current: 0,
    superseded: 0,
    drafts: 0,
    paths: 0,
    directories: 0,
    lines: 0,
    hits: 0,
    versions: 0,
  };
  #unsearched = 0;
  #lastFile: string | null = null;

  constructor(job: RunningJob) {
    this.#hits = new FirstHits(job);
  }

  add({ hits, versions, unsearched }: FoundPage): void {
    this.#counts.versions += versions;
    this.#unsearched += unsearched;
    for (const hit of hits) this.#count(hit);
  }

  counts(): Counts {
    return { ...this.#counts, ...(this.#unsearched > 0 && { unsearched: this.#unsearched }) };
  }

  /** Returns the result. Only tenants with hits, or with contents that were not searched, have an outcome. */
  result(): TenantResult {
    const isComplete = this.#unsearched === 0;
    const hasOutcome = this.#counts.hits > 0 || !isComplete;
    const details = { hits: this.#hits.stored, actors: this.#actors.list() };
    return { counts: this.counts(), isComplete, details: hasOutcome ? details : null };
  }

  #count(hit: Hit): void {
    const counts = this.#counts;
    counts.hits++;
    this.#hits.add(hit);
    this.#actors.add(hit);
    const { memoryId } = hit;
    if (memoryId === null) {
      counts.directories++;
      return;
    }
    // A file's hits follow each other. A file's copy in a draft is another file.
    const file = `${hit.draft ?? ''} ${memoryId}`;
    if (file !== this.#lastFile) counts.files++;
    this.#lastFile = file;
    if (hit.in === 'path') counts.paths++;
    else {
      counts[hit.draft === null ? hit.place : 'drafts']++;
      counts.lines += hit.lines;
    }
  }
}

/** A hit for a reader. The version's fields are null if the version no longer exists. */
export interface ShownHit extends StoredHit {
  path: string | null;
  operation: Operation | null;
  /** The matching line, or a part of a long line. Null for a path, and after redaction. */
  excerpt: string | null;
  actor: Actor | null;
  at: string | null;
  isRedacted: boolean;
}

interface HitVersion {
  id: string;
  memoryId: string;
  path: string | null;
  operation: Operation;
  origin: Origin | null;
  at: string;
  bytes: number;
  isRedacted: boolean;
}

const hitVersionsQuery = defineQuery<{ tenant: string; memoryIds: string[]; ids: string[] }, HitVersion>(
  'find_hit_versions',
  `
SELECT v.id, v.memory_id AS "memoryId", v.path, v.operation, v.origin, ${time('v.created_at')} AS at,
  COALESCE(v.size_bytes, 0) AS bytes, v.redacted_at IS NOT NULL AS "isRedacted"
FROM memory_versions AS v
WHERE v.tenant_id = $tenant AND v.memory_id = ANY ($memoryIds::text[]::uuid[]) AND v.id = ANY ($ids::text[]::uuid[])
`,
);

/** Contents that are read together for excerpts. */
const CONTENTS = { items: 200, weight: 2 ** 20, weigh: ({ bytes }: HitVersion) => bytes };

/**
 * Reads a page of a find's stored hits in a tenant, in their current state. The first page is after 0.
 *
 * @returns the hits, and the number of stored hits
 * @throws ServiceError if the job has no outcome for the tenant
 */
export async function readHits(
  database: Database,
  job: string,
  tenant: string,
  { after, limit }: { after: number; limit: number },
): Promise<{ hits: ShownHit[]; stored: number }> {
  const outcome = await findOutcome(database, job, tenant);
  if (outcome === undefined) throw new ServiceError('no_such_outcome', job, tenant);
  const { hits = [] } = outcome.details as { hits?: StoredHit[] };
  const page = hits.slice(after, after + limit);
  const shown = new Map<StoredHit, ShownHit>();
  for (const draft of new Set(page.map((hit) => hit.draft))) {
    const ofStore = page.filter((hit) => hit.draft === draft);
    for await (const { version, content } of readHitVersions(database, draft ?? tenant, ofStore))
      for (const hit of ofStore)
        if (hit.versionId === version.id) shown.set(hit, toShownHit(hit, version, content));
  }
  return { hits: page.map((hit) => shown.get(hit) ?? { ...hit, ...MISSING }), stored: hits.length };
}

/** Yields the hits' versions, with their contents where needed. Only one batch of contents is in memory. */
async function* readHitVersions(database: Database, tenant: string, hits: readonly StoredHit[]) {
  const ids = [...new Set(hits.map(({ versionId }) => versionId))];
  const memoryIds = [...new Set(hits.map(({ memoryId }) => memoryId))];
  const { rows } = await database.query(hitVersionsQuery, { tenant, memoryIds, ids });
  const withContent = new Set(hits.filter((hit) => hit.in === 'content').map(({ versionId }) => versionId));
  const history = new History(database);
  for await (const batch of batches(rows, CONTENTS)) {
    const read = batch
      .filter(({ id }) => withContent.has(id))
      .map(({ id, memoryId }) => ({ memoryId, versionId: id }));
    const contents = await history.contents(tenant, read);
    for (const version of batch) yield { version, content: contents.get(version.id) };
  }
}

const MISSING = {
  path: null,
  operation: null,
  excerpt: null,
  actor: null,
  at: null,
  isRedacted: false,
} as const;

function toShownHit(hit: StoredHit, version: HitVersion, content: string | undefined): ShownHit {
  const { line, from } = hit;
  return {
    ...hit,
    path: version.path,
    operation: version.operation,
    excerpt: line === null || content === undefined ? null : excerptAt(content, { line, from }),
    actor: originActor(version.origin),
    at: version.at,
    isRedacted: version.isRedacted,
  };
}
