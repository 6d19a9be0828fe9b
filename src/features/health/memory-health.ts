import type { Database } from '../../core/database/database.ts';
import { defineQuery, time } from '../../core/database/query.ts';
import { findPathsQuery } from '../../core/files/read-queries.ts';
import type { FeatureService } from '../../core/files/services.ts';
import { timeSliced } from '../../core/lib/time-slice.ts';
import { amount } from '../../core/lib/units.ts';
import { WorkerThreads } from '../../core/lib/worker-threads.ts';
import { mountAt } from '../../core/memory/mount.ts';
import { type MemoryPath, ROOT } from '../../core/memory/path.ts';
import type { TenantRow } from '../../core/tenants/queries.ts';
import type { ExaminedFile } from './examine.ts';
import { Findings, MAX_ENTRIES, STALE_DAYS, UNREAD_DAYS } from './findings.ts';
import { findSimilar } from './similarity.ts';

/** Page size. A page is read by one statement and examined as a whole. */
const PAGE = { entries: 100, bytes: 2 ** 19 };
/** Maximum number of entries and bytes to examine in a memory. */
const MAX = { entries: 50_000, bytes: 2 ** 28 };

interface HealthRow {
  path: string;
  parent: string;
  /** Null for a directory. */
  content: string | null;
  bytes: number;
  /** Days on which the file was last written, and last read or written. */
  written: string;
  used: string;
  isUnread: boolean;
  isStale: boolean;
}

const USED = 'greatest(accessed_at, updated_at)';
const before = (days: number) => `now() - interval '${days} days'`;

/**
 * Reads a page: entries sorted by path. The page has at most `limit` entries, and ends before the file that would
 * exceed `bytes`, but has at least one entry. The first page is after the root.
 */
const healthPageQuery = defineQuery<
  { tenant: string; after: string; limit: number; bytes: number },
  HealthRow
>(
  'health_page',
  `
SELECT path, parent, content, bytes, written, used, "isUnread", "isStale" FROM (
  SELECT path, parent_path AS parent, content, coalesce(size_bytes, 0) AS bytes,
    ${time('updated_at')} AS written, ${time(USED)} AS used,
    accessed_at <= updated_at AND updated_at < ${before(UNREAD_DAYS)} AS "isUnread",
    ${USED} < ${before(STALE_DAYS)} AS "isStale",
    sum(coalesce(size_bytes, 0)) OVER (ORDER BY path) - coalesce(size_bytes, 0) AS before
  FROM entries WHERE tenant_id = $tenant AND path > $after ORDER BY path LIMIT $limit
) AS page
WHERE before < $bytes::bigint ORDER BY path
`,
);

/** Reads a tenant's entries page by page, up to `max`. */
async function* readHealthPages(
  database: Database,
  tenant: string,
  max: typeof MAX,
): AsyncGenerator<HealthRow[]> {
  let [after, entries, bytes] = [ROOT as string, 0, 0];
  while (entries < max.entries && bytes < max.bytes) {
    const limit = Math.min(PAGE.entries, max.entries - entries);
    const { rows } = await database.query(healthPageQuery, { tenant, after, limit, bytes: PAGE.bytes });
    const last = rows.at(-1);
    if (last === undefined) return;
    yield rows;
    after = last.path;
    entries += rows.length;
    for (const row of rows) bytes += row.bytes;
  }
}

/** A link from a file to a path. */
interface Link {
  path: string;
  target: MemoryPath;
}

interface TextFile extends HealthRow {
  content: string;
}

/** Examines memories, each page in a thread. */
export class MemoryHealth implements FeatureService {
  readonly #threads = new WorkerThreads<{ path: string; content: string }[], ExaminedFile[]>({
    module: new URL('./examine', import.meta.url),
    threads: 1,
    idleMs: 60_000,
    maxHeapMiB: 256,
  });

  /**
   * Returns the findings in a memory, and how many files were examined. A memory beyond `MAX` is examined in part.
   *
   * @param options.maxContextChars length in UTF-16 units from which a file is too long; 0 for any length
   * @param options.signal ends the work
   * @throws DatabaseError
   */
  async examine(
    database: Database,
    row: Pick<TenantRow, 'id' | 'mounts'>,
    {
      maxContextChars,
      signal,
      max = MAX,
    }: { maxContextChars: number; signal: AbortSignal; max?: typeof MAX },
  ): Promise<{ findings: Findings; examined: number }> {
    const findings = new Findings();
    const texts = new Texts(findings, maxContextChars);
    const children = new Map<string, number>();
    let examined = 0;
    for await (const rows of readHealthPages(database, row.id, max)) {
      for (const { parent } of rows) children.set(parent, (children.get(parent) ?? 0) + 1);
      const page = rows.filter((each): each is TextFile => each.content !== null);
      const task = page.map(({ path, content }) => ({ path, content }));
      const results = await this.#threads.run(task, signal, row.id);
      // A file that needs more memory than a thread has is not examined.
      if (results === 'out_of_memory') continue;
      examined += page.length;
      const links: Link[] = [];
      for (const [i, file] of page.entries()) {
        const result = results[i] as ExaminedFile;
        texts.add(file, result);
        for (const target of result.links) links.push({ path: file.path, target });
      }
      await addBrokenLinks(database, row, findings, links);
    }
    for await (const [path, count] of timeSliced(children))
      if (count > MAX_ENTRIES) findings.add('crowded', path, amount(count, 'entry', 'entries'));
    await texts.addSimilar();
    return { findings, examined };
  }

  async close(): Promise<void> {
    await this.#threads.close();
  }
}

/** Examined texts, as hashes and sketches. */
class Texts {
  readonly #findings: Findings;
  readonly #maxChars: number;
  readonly #byHash = new Map<string, string>();
  readonly #distinct: { path: string; sketch: Uint32Array }[] = [];

  constructor(findings: Findings, maxChars: number) {
    this.#findings = findings;
    this.#maxChars = maxChars;
  }

  /** Adds the findings in a file. */
  add({ path, written, used, isUnread, isStale }: TextFile, file: ExaminedFile): void {
    const { sha256, chars, sketch, secrets } = file;
    if (isUnread) this.#findings.add('unread', path, `written ${written.slice(0, 10)}`);
    if (isStale) this.#findings.add('stale', path, `last used ${used.slice(0, 10)}`);
    if (this.#maxChars > 0 && chars > this.#maxChars)
      this.#findings.add('large', path, amount(chars, 'character'));
    if (secrets.length > 0) this.#findings.add('secret', path, secrets.join(', '));
    if (sha256 === undefined) return;
    const same = this.#byHash.get(sha256);
    if (same !== undefined) {
      this.#findings.add('duplicate', path, same);
      return;
    }
    this.#byHash.set(sha256, path);
    this.#distinct.push({ path, sketch });
  }

  /** Adds the files that are similar to an earlier file and not equal. */
  async addSimilar(): Promise<void> {
    const path = (index: number) => this.#distinct[index]?.path ?? '';
    for await (const { file, like } of findSimilar(this.#distinct.map(({ sketch }) => sketch)))
      this.#findings.add('similar', path(file), path(like));
  }
}

/** Adds a page's links to paths that do not exist. Paths below a mount belong to another memory. */
async function addBrokenLinks(
  database: Database,
  { id: tenant, mounts }: Pick<TenantRow, 'id' | 'mounts'>,
  findings: Findings,
  links: readonly Link[],
): Promise<void> {
  const own = links.filter(({ target }) => mountAt(target, mounts) === undefined);
  if (own.length === 0) return;
  const paths = [...new Set(own.map(({ target }) => target))];
  const { rows } = await database.query(findPathsQuery, { tenant, paths });
  const existing = new Set(rows.map(({ path }) => path));
  for (const { path, target } of own) if (!existing.has(target)) findings.add('broken_link', path, target);
}

/** Creates the examiner for `Services`. */
export const memoryHealth = () => new MemoryHealth();
