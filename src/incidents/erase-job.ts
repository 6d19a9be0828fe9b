import type { Database } from '../database/database.ts';
import type { Query } from '../files/search/query.ts';
import { createFindThread, Finder, type FindRequest, type Hit } from './find.ts';
import { FirstHits } from './find-job.ts';
import type { Counts, RunningJob } from './jobs.ts';
import type { JobKind, TenantResult } from './runner.ts';

/** Name of the kind of job. */
export const ERASE = 'erase';

/** Minimum number of characters of a text. A shorter text is part of many others, so its erasure would damage files. */
export const MIN_TEXT = 3;
export const MAX_TEXT = 16_384;

/** The request of a stored erasure, without its texts. */
export interface StoredEraseRequest {
  ignoresCase: boolean;
  keepsOut: boolean;
  isDryRun: boolean;
}

export interface EraseTexts {
  text: string;
  replacement: string;
}

/** Returns the kind of job that erases a text in each tenant. */
export function eraseJobs(database: Database): JobKind {
  const thread = createFindThread();
  // The pauses leave at least half of the time of a core, and of the database, to requests.
  const finder = new Finder(database, thread, (busyMs) => busyMs);
  return {
    kind: ERASE,
    async work(job, tenant, signal, report) {
      if (!(job.request as StoredEraseRequest).isDryRun) throw new Error('not yet');
      return tryInTenant(finder, job, tenant, signal, report);
    },
    close: () => thread.close(),
  };
}

function findRequest(job: RunningJob): FindRequest {
  const { ignoresCase } = job.request as StoredEraseRequest;
  const { text } = job.texts as EraseTexts;
  const query: Query = { mode: 'literal', text, ignoresCase, where: 'both' };
  return { query, places: ['current', 'superseded', 'drafts'], by: null, since: null, until: null };
}

/** Finds the places that an erasure would change. */
async function tryInTenant(
  finder: Finder,
  job: RunningJob,
  tenant: string,
  signal: AbortSignal,
  report: (counts: Counts) => void,
): Promise<TenantResult> {
  const hits = new FirstHits(job);
  const places = new ErasedPlaces();
  for await (const page of finder.find(tenant, findRequest(job), signal)) {
    for (const hit of page.hits) {
      hits.add(hit);
      places.add(hit);
    }
    places.counts.searched += page.versions;
    places.counts.unsearched += page.unsearched;
    report(places.counts);
  }
  const { counts } = places;
  const isComplete = counts.unsearched === 0;
  return { counts, isComplete, details: counts.hits > 0 || !isComplete ? { hits: hits.stored } : null };
}

/** Counts the places that an erasure changes. A version whose content and path contain the text counts once. */
class ErasedPlaces {
  readonly counts = {
    files: 0,
    versions: 0,
    drafts: 0,
    paths: 0,
    directories: 0,
    hits: 0,
    searched: 0,
    unsearched: 0,
  };
  #last: string | null = null;

  add({ draft, memoryId, versionId, place, in: part }: Hit): void {
    const { counts } = this;
    counts.hits++;
    // The hits in the content and in the path of a version follow each other.
    const isSameVersion = versionId !== null && `${draft} ${versionId}` === this.#last;
    this.#last = versionId === null ? null : `${draft} ${versionId}`;
    if (draft !== null) counts.drafts += isSameVersion ? 0 : 1;
    else if (place === 'superseded') {
      if (memoryId === null) counts.directories++;
      else counts.versions += isSameVersion ? 0 : 1;
    } else counts[part === 'path' ? 'paths' : 'files']++;
  }
}
