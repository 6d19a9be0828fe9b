import type { Config } from '../../core/config.ts';
import { databaseInstant } from '../../core/database/clock.ts';
import type { Database } from '../../core/database/database.ts';
import type { QueryExecutor } from '../../core/database/query.ts';
import { WorkerThreads } from '../../core/lib/worker-threads.ts';
import { effectiveSettings, tenantDefaults } from '../../core/tenants/effective-settings.ts';
import { requireInstallation } from '../../core/tenants/installation.ts';
import { addKeptOut } from '../../core/tenants/kept-out-entries.ts';
import { keptOutEverywhereMs } from '../../core/tenants/kept-out-lists.ts';
import { findTenantQuery } from '../../core/tenants/queries.ts';
import type { SoughtText } from './compared-text.ts';
import {
  countOrigins,
  countSettings,
  eraseQuery,
  eraseResults,
  eraseTenant,
  eraseTitles,
  isErasable,
} from './erase.ts';
import type { Erasure } from './erase-files.ts';
import { addJobReceipt, addTenantReceipt } from './erase-receipt.ts';
import type { EraseTask } from './erase-text-thread.ts';
import { createJobFinder, type Finder, type Hit, PLACES } from './find.ts';
import { FirstHits } from './find-job.ts';
import { FoundActors } from './found-actors.ts';
import type { JobKind, TenantResult, TenantRun } from './job-kind.ts';
import { type Counts, findOutcome, type RunningJob, recordOutcome } from './jobs.ts';

/** Name of this job kind. */
export const ERASE = 'erase';

/** Minimum text length in characters. A shorter text is part of many others, so its erasure would damage files. */
export const MIN_TEXT = 3;
export const MAX_TEXT = 16_384;

/** A stored erasure's request, without its texts. */
export interface StoredEraseRequest {
  /** Whether the text is compared byte for byte, not in its normal form. */
  isExact: boolean;
  /** Only for an exact comparison. */
  ignoresCase: boolean;
  /** Owner of the list that keeps the text out: `tenants` for each selected tenant, or null. */
  keepsOut: 'tenants' | 'all' | null;
  isDryRun: boolean;
}

export interface EraseTexts {
  text: string;
  replacement: string;
}

/** Changes that an erasure counts. The other counts are about its search. */
const CHANGES = ['files', 'versions', 'drafts', 'paths', 'directories', 'results', 'titles'] as const;

const MAX_HEAP_MIB = 512;

/** Returns the job kind that erases a text in each tenant. */
export function eraseJobs(database: Database, config: Config): JobKind {
  const { finder, thread: findThread } = createJobFinder(database);
  const eraseThread = new WorkerThreads<EraseTask, string[]>({
    module: new URL('./erase-text-thread', import.meta.url),
    threads: 1,
    idleMs: 30_000,
    maxHeapMiB: MAX_HEAP_MIB,
  });
  return {
    kind: ERASE,
    readCount: 'searched',
    work(job, tenant, run) {
      const erasing = new ErasingTenant({ database, config, finder, eraseThread }, job, tenant, run);
      return (job.request as StoredEraseRequest).isDryRun ? erasing.try() : erasing.erase();
    },
    pauseMs(job) {
      const { isDryRun, keepsOut } = job.request as StoredEraseRequest;
      // Until then, agents write with earlier lists. The next pass erases the text from these files.
      return isDryRun || keepsOut === null ? 0 : keptOutEverywhereMs(config);
    },
    async finish(job, query) {
      if (!(job.request as StoredEraseRequest).isDryRun)
        await addJobReceipt({ query }, config, job, CHANGES, (job.texts as EraseTexts).text);
    },
    async close() {
      await Promise.all([findThread.close(), eraseThread.close()]);
    },
  };
}

interface Services {
  database: Database;
  config: Config;
  finder: Finder;
  eraseThread: WorkerThreads<EraseTask, string[]>;
}

/** One attempt by a job in one tenant. */
class ErasingTenant {
  readonly #services: Services;
  readonly #job: RunningJob;
  readonly #tenant: string;
  readonly #run: TenantRun;
  readonly #request: StoredEraseRequest;
  readonly #texts: EraseTexts;
  readonly #erased: SoughtText;
  #counts = pickChanges({});
  /** Changes in earlier passes, which have a receipt. */
  #before = pickChanges({});

  constructor(services: Services, job: RunningJob, tenant: string, run: TenantRun) {
    this.#services = services;
    this.#job = job;
    this.#tenant = tenant;
    this.#run = run;
    this.#request = job.request as StoredEraseRequest;
    this.#texts = job.texts as EraseTexts;
    this.#erased = {
      text: this.#texts.text,
      isExact: this.#request.isExact,
      ignoresCase: this.#request.ignoresCase,
    };
  }

  /** Finds the places that an erasure would change. */
  async try(): Promise<TenantResult> {
    const { finder } = this.#services;
    const hits = new FirstHits(this.#job);
    const actors = new FoundActors();
    const counts = new CountedPlaces(this.#counts, this.#erased);
    let [unsearched, origins] = [0, 0];
    const request = { query: eraseQuery(this.#erased), places: PLACES, by: null, since: null, until: null };
    for await (const page of finder.find(this.#tenant, request, this.#run.signal, this.#run.turn)) {
      for (const hit of page.hits) {
        if (!counts.add(hit)) continue;
        hits.add(hit);
        actors.add(hit);
      }
      this.#add({ searched: page.versions });
      unsearched += page.unsearched;
      origins += countOrigins(page, this.#erased);
    }
    await this.#finish(origins, true);
    const isComplete = unsearched === 0;
    return this.#result(isComplete, { hits: hits.stored, actors: actors.list() });
  }

  /** Erases the text. An interrupted attempt has recorded its counts, and this attempt continues them. */
  async erase(): Promise<TenantResult | null> {
    const { database, config, finder, eraseThread } = this.#services;
    const job = this.#job.id;
    // Without the secret, the erasure would end without a receipt.
    await requireInstallation(database.query, config);
    const [row] = (await database.query(findTenantQuery, { tenant: this.#tenant })).rows;
    if (row === undefined) return null;
    if (this.#request.keepsOut === 'tenants') await this.#keepOut();
    const outcome = await findOutcome(database, job, this.#tenant);
    this.#counts = pickChanges(outcome?.counts ?? {});
    // An interrupted attempt's outcome has no receipt yet.
    if (outcome?.isComplete) this.#before = { ...this.#counts };
    const { maxFileBytes } = effectiveSettings(row, config);
    const { replacement } = this.#texts;
    const at = await databaseInstant(database);
    const erasure: Erasure = {
      erased: this.#erased,
      origin: { actor: this.#job.createdBy, requestId: job },
      defaults: tenantDefaults(config),
      eraseAll: async (contents) => {
        if (contents.length === 0) return [];
        const task = { contents, erased: this.#erased, replacement, maxBytes: maxFileBytes };
        const texts = await eraseThread.run(task, this.#run.signal);
        if (texts === 'out_of_memory')
          throw new Error('A text could not be erased within the memory of a thread.');
        return texts;
      },
      count: (query, more) => this.#record(query, at, more),
    };
    const onPage = ({ versions }: { versions: number }) => this.#add({ searched: versions });
    const { left, origins } = await eraseTenant(database, finder, this.#tenant, erasure, this.#run, onPage);
    if (left > 0) this.#add({ left });
    await this.#finish(origins, false);
    const result = this.#result(left === 0, {});
    if (hasChanges(this.#newChanges()))
      await addTenantReceipt(
        database,
        config,
        this.#job,
        this.#tenant,
        this.#newChanges(),
        this.#erased.text,
      );
    return result;
  }

  async #keepOut(): Promise<void> {
    const { database, config } = this.#services;
    const entry = { text: this.#texts.text, label: `erase ${this.#job.id}`, by: this.#job.createdBy };
    await addKeptOut(database, config, this.#tenant, entry);
  }

  /** Handles the data outside the memory, after the memory. */
  async #finish(origins: number, isDryRun: boolean): Promise<void> {
    const { database } = this.#services;
    const titles = await eraseTitles(database, this.#tenant, this.#erased, isDryRun);
    this.#add({ titles });
    const options = { wasFound: hasChanges(this.#newChanges()), isDryRun };
    this.#add({ results: await eraseResults(database, this.#tenant, this.#erased, options) });
    this.#add({ settings: origins + (await countSettings(database, this.#tenant, this.#erased)) });
  }

  /** Returns the changes in this pass. */
  #newChanges(): Counts {
    const changes = pickChanges(this.#counts);
    for (const name of CHANGES) changes[name] = (changes[name] ?? 0) - (this.#before[name] ?? 0);
    return changes;
  }

  /** Returns the result. Only tenants that contain the text have an outcome. */
  #result(isComplete: boolean, details: object): TenantResult {
    const hasOutcome = hasChanges(this.#counts) || !isComplete || (this.#counts.settings ?? 0) > 0;
    return { counts: this.#counts, isComplete, details: hasOutcome ? details : null };
  }

  #add(more: Counts): void {
    addTo(this.#counts, more);
    this.#run.report(this.#counts);
  }

  async #record(query: QueryExecutor, at: string, more: Counts): Promise<void> {
    this.#add(more);
    const outcome = { at, error: null, isComplete: false, counts: this.#counts, details: {} };
    await recordOutcome(query, { tenant: this.#tenant, job: this.#job.id, ...outcome });
  }
}

function addTo(counts: Counts, more: Counts): void {
  for (const [name, count] of Object.entries(more)) counts[name] = (counts[name] ?? 0) + count;
}

function hasChanges(counts: Counts): boolean {
  return CHANGES.some((name) => (counts[name] ?? 0) > 0);
}

function pickChanges(counts: Counts): Counts {
  return Object.fromEntries(CHANGES.map((name) => [name, counts[name] ?? 0]));
}

/**
 * Counts the places that an erasure changes. The erasure redacts a superseded version once for its content and its
 * path.
 */
class CountedPlaces {
  readonly #counts: Counts;
  readonly #erased: SoughtText;
  #last: string | null = null;

  constructor(counts: Counts, erased: SoughtText) {
    this.#counts = counts;
    this.#erased = erased;
  }

  /** @returns false if an erasure does not change the place */
  add(hit: Hit): boolean {
    if (!isErasable(hit, this.#erased)) return false;
    const { draft, memoryId, versionId, place, in: part } = hit;
    addTo(this.#counts, { hits: 1 });
    // The hits in a version's content and path follow each other.
    const isCounted = place === 'superseded' && versionId !== null && `${draft} ${versionId}` === this.#last;
    this.#last = versionId === null ? null : `${draft} ${versionId}`;
    if (isCounted) return true;
    if (draft !== null) addTo(this.#counts, { drafts: 1 });
    else if (place === 'current') addTo(this.#counts, { [part === 'path' ? 'paths' : 'files']: 1 });
    else addTo(this.#counts, { [memoryId === null ? 'directories' : 'versions']: 1 });
    return true;
  }
}
