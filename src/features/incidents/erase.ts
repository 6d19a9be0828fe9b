import { databaseInstant } from '../../core/database/clock.ts';
import type { Database } from '../../core/database/database.ts';
import { redactResults } from '../../core/history/redact.ts';
import { readPages } from '../../core/lib/pages.ts';
import { runInSlices, timeSliced } from '../../core/lib/time-slice.ts';
import { FIRST_ID } from '../../core/lib/uuids.ts';
import { resultRedacted } from '../../core/memory/messages.ts';
import type { MemoryPath } from '../../core/memory/path.ts';
import { listDraftTenantsQuery } from '../../core/tenants/queries.ts';
import { containsText, type SoughtText, searchSteps } from './compared-text.ts';
import { type Erasure, eraseFiles, type FoundFile, type Store } from './erase-files.ts';
import { pathContains } from './erase-path.ts';
import { renameBasePaths, renamePaths } from './erase-paths.ts';
import {
  countResultsQuery,
  forgetPathsQuery,
  listEventTextsQuery,
  listKeyNamesQuery,
  listNamesQuery,
  listResultsQuery,
  setTitleQuery,
  titlesQuery,
} from './erase-queries.ts';
import { eraseText } from './erase-text.ts';
import type { Finder, FoundPage, Hit } from './find.ts';
import type { FindQuery } from './find-scan.ts';
import type { TenantRun } from './job-kind.ts';

/* Erases a text from a tenant: its memory, open drafts, and stored results. */

/** Limit on searches in a tenant. If the last search still has hits, the erasure is incomplete. */
const MAX_PASSES = 4;
const RESULTS_A_PAGE = 20;
const EVENTS_A_PAGE = 500;
/** Numbers of files and versions after which the collected places are erased together. */
const FLUSH = { files: 100, versions: 1000 };

export function eraseQuery({ text, isExact, ignoresCase }: SoughtText): FindQuery {
  if (!isExact) return { mode: 'normalized', text, where: 'both' };
  return { mode: 'literal', text, ignoresCase, where: 'both' };
}

/**
 * Erases the text from a tenant. The search is repeated until it has no hit, because agents may write meanwhile. Safe
 * to repeat.
 *
 * @param onPage receives each page of versions that was searched
 */
export async function eraseTenant(
  database: Database,
  finder: Finder,
  tenant: string,
  erasure: Erasure,
  { signal, turn }: Pick<TenantRun, 'signal' | 'turn'>,
  onPage: (page: FoundPage) => void,
): Promise<{ left: number; origins: number }> {
  for (let pass = 1; ; pass++) {
    let [found, left, origins] = [0, 0, 0];
    for (const store of await findStores(database, tenant)) {
      const eraser = new StoreEraser(database, store, erasure);
      for await (const page of finder.find(store.id, findAll(erasure.erased), signal, turn)) {
        onPage(page);
        await turn(() => eraser.add(page));
        left += page.unsearched;
        origins += countOrigins(page, erasure.erased);
      }
      left += await turn(() => eraser.finish());
      found += eraser.found;
    }
    if (found === 0 || pass === MAX_PASSES) return { left: left + found, origins };
  }
}

function findAll(erased: SoughtText) {
  const places = ['current', 'superseded'] as const;
  return { query: eraseQuery(erased), places, by: null, since: null, until: null };
}

/** Lists the memories of a tenant and its drafts, including drafts that are being created or deleted. */
async function findStores({ query }: Database, tenant: string): Promise<Store[]> {
  const { rows } = await query(listDraftTenantsQuery, { tenant });
  return [{ id: tenant, isDraft: false }, ...rows.map(({ id }) => ({ id, isDraft: true }))];
}

/** Whether an erasure changes the place. An erasure cannot change `/memories`, which is in every path. */
export function isErasable({ in: part, path }: Hit, erased: SoughtText): boolean {
  return part === 'content' || pathContains(path, erased);
}

/** Erases the places in one memory, page by page. */
class StoreEraser {
  readonly #database: Database;
  readonly #store: Store;
  readonly #erasure: Erasure;
  #files: FoundFile[] = [];
  #versions = 0;
  readonly #paths: MemoryPath[] = [];
  readonly #pastDirectories: MemoryPath[] = [];
  found = 0;

  constructor(database: Database, store: Store, erasure: Erasure) {
    this.#database = database;
    this.#store = store;
    this.#erasure = erasure;
  }

  async add({ hits }: FoundPage): Promise<void> {
    for (const hit of hits) {
      if (!isErasable(hit, this.#erasure.erased)) continue;
      const { memoryId, versionId, place, in: part, path } = hit;
      this.found++;
      if (place === 'current' && part === 'path') this.#paths.push(path as MemoryPath);
      else if (memoryId === null || versionId === null) this.#pastDirectories.push(path as MemoryPath);
      else {
        const file = this.#foundFile(memoryId);
        this.#versions++;
        if (place === 'current') file.current = versionId;
        else file.superseded.set(versionId, path as MemoryPath);
      }
    }
    if (this.#files.length >= FLUSH.files || this.#versions >= FLUSH.versions) await this.#flush();
  }

  /**
   * Erases the remaining places. Paths are last, because a renamed file keeps the versions that were found.
   *
   * @returns the number of places that could not be erased
   */
  async finish(): Promise<number> {
    await this.#flush();
    const left = await renamePaths(this.#database, this.#store, this.#paths, this.#erasure);
    await this.#forgetDirectories();
    if (!this.#store.isDraft) return left;
    return left + (await renameBasePaths(this.#database, this.#store, this.#erasure));
  }

  /** A file's hits follow each other. */
  #foundFile(memoryId: string): FoundFile {
    const last = this.#files.at(-1);
    if (last?.memoryId === memoryId) return last;
    const file: FoundFile = { memoryId, current: null, superseded: new Map() };
    this.#files.push(file);
    return file;
  }

  async #flush(): Promise<void> {
    const files = this.#files;
    this.#files = [];
    this.#versions = 0;
    if (files.length > 0) await eraseFiles(this.#database, this.#store, files, this.#erasure);
  }

  async #forgetDirectories(): Promise<void> {
    const paths = this.#pastDirectories;
    if (paths.length === 0) return;
    const counted = this.#store.isDraft ? 'drafts' : 'directories';
    await this.#database.transaction(async (query) => {
      await query(forgetPathsQuery, { tenant: this.#store.id, paths, below: false });
      await this.#erasure.count(query, { [counted]: paths.length });
    });
  }
}

/** Counts the versions whose actor or request contains the text. */
export function countOrigins({ origins }: FoundPage, erased: SoughtText): number {
  return origins.filter((origin) => origin !== null && containsJson(origin, erased)).length;
}

function containsJson(value: unknown, erased: SoughtText): boolean {
  if (typeof value === 'string') return containsText(value, erased);
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).some(
    ([name, each]) => containsText(name, erased) || containsJson(each, erased),
  );
}

/**
 * Erases the text from the titles of a tenant's drafts, open and closed, and deletes comments with the text. Returns
 * the number of drafts with the text in their title or comments.
 */
export async function eraseTitles(
  { query }: Database,
  tenant: string,
  erased: SoughtText,
  isDryRun: boolean,
): Promise<number> {
  const drafts = (await query(titlesQuery, { tenant })).rows.map(({ comments, ...draft }) => ({
    ...draft,
    comments: (JSON.parse(comments) as { id: string; text: string; reviewer?: string }[])
      .filter(({ text, reviewer = '' }) => containsText(text, erased) || containsText(reviewer, erased))
      .map(({ id }) => id),
  }));
  const found = drafts.filter(({ title, comments }) => containsText(title, erased) || comments.length > 0);
  for (const { id, title, comments } of isDryRun ? [] : found) {
    const kept = containsText(title, erased) ? eraseText(title, erased, '[erased]').trim() || 'Draft' : title;
    await query(setTitleQuery, { tenant, id, title: kept, comments });
  }
  return found.length;
}

/**
 * Redacts all stored results for a tenant and its drafts, if the text was found in the tenant or in one of them. Any
 * result may quote a part of the text, and a request's hash could confirm the text.
 *
 * @returns the number of redacted results
 */
export async function eraseResults(
  database: Database,
  tenant: string,
  erased: SoughtText,
  { wasFound, isDryRun }: { wasFound: boolean; isDryRun: boolean },
): Promise<number> {
  const stores = await findStores(database, tenant);
  const counts: { id: string; all: number }[] = [];
  let isFound = wasFound;
  for (const { id } of stores) {
    const [row] = (await database.query(countResultsQuery, { tenant: id, redacted: resultRedacted })).rows;
    counts.push({ id, all: row?.all ?? 0 });
    isFound ||= await resultsContain(database, id, erased);
  }
  if (!isFound) return 0;
  if (isDryRun) return counts.reduce((sum, { all }) => sum + all, 0);
  const until = await databaseInstant(database);
  let redacted = 0;
  for (const { id } of counts) redacted += await redactResults(database, id, until);
  return redacted;
}

async function resultsContain({ query }: Database, tenant: string, erased: SoughtText): Promise<boolean> {
  const results = readPages(async (last: { key: string } | undefined) => {
    const page = { tenant, after: last?.key ?? '', limit: RESULTS_A_PAGE };
    return (await query(listResultsQuery, page)).rows;
  }, RESULTS_A_PAGE);
  for await (const { content } of timeSliced(results))
    if ((await runInSlices(searchSteps(content, erased))) !== undefined) return true;
  return false;
}

/** Counts a tenant's names and settings that contain the text. An erasure does not change them. */
export async function countSettings(
  { query }: Database,
  tenant: string,
  erased: SoughtText,
): Promise<number> {
  const events = readPages(async (last: { id: string } | undefined) => {
    const page = { tenant, after: last?.id ?? FIRST_ID, limit: EVENTS_A_PAGE };
    return (await query(listEventTextsQuery, page)).rows;
  }, EVENTS_A_PAGE);
  const names = (await query(listNamesQuery, { tenant })).rows;
  const keys = (await query(listKeyNamesQuery, { tenant })).rows;
  let found = 0;
  for (const rows of [names, keys, events])
    for await (const { json } of timeSliced<{ json: string }>(rows))
      if (containsJson(JSON.parse(json), erased)) found++;
  return found;
}
