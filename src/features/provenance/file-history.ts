import { runWithRetries } from '../../core/database/database-errors.ts';
import { defineQuery, type QueryExecutor, time } from '../../core/database/query.ts';
import { entriesAtPaths } from '../../core/files/read-queries.ts';
import type { Operation } from '../../core/history/version.ts';
import type { Origin } from '../../core/memory/origin.ts';
import { ROOT } from '../../core/memory/path.ts';
import type { Step, TextHistory } from './attribution.ts';

/** Limits for one call, in bytes of UTF-8. */
const MAX_CONTENT_BYTES = 1024 * 1024;
const MAX_HISTORY_BYTES = 4 * 1024 * 1024;
const MAX_VERSIONS = 1000;
const MAX_FILE_VERSIONS = 100;

/** A file version. Times are ISO 8601 in UTC. */
interface VersionRow {
  memoryId: string;
  id: string;
  operation: Operation;
  createdAt: string;
  origin: Origin | null;
}

/**
 * Reads the files at paths, if the tenant has the given creation time; null accepts any. The content is null once the
 * contents exceed `maxBytes`.
 */
const readCurrentQuery = defineQuery<
  { tenant: string; createdAt: string | null; paths: string[]; maxBytes: number },
  VersionRow & { path: string; content: string | null }
>(
  'read_provenance_current',
  `
SELECT e.path, e.memory_id::text AS "memoryId", e.version::text AS id, e.operation, ${time('e.changed_at')} AS "createdAt",
  e.origin, CASE WHEN sum(e.size_bytes) OVER (ORDER BY e.path) <= $maxBytes::bigint THEN e.content END AS content
FROM ${entriesAtPaths('path, memory_id, version, operation, changed_at, origin, size_bytes, content')}
WHERE e.memory_id IS NOT NULL AND ($createdAt::text IS NULL OR EXISTS (
  SELECT FROM entries AS root
  WHERE root.tenant_id = $tenant AND root.path = '${ROOT}' AND root.created_at = $createdAt::text::timestamptz
))
ORDER BY e.path
`,
);

interface OlderRow extends VersionRow {
  supersededAt: string;
  /** Null for deletions and redacted versions. */
  content: string | null;
  spliceStart: number | null;
  spliceLength: number | null;
}

/** Reads each file's versions before a version, newest first, until they exceed `maxBytes`. */
const readOlderQuery = defineQuery<
  { tenant: string; memoryIds: string[]; ids: string[]; limit: number; maxBytes: number },
  OlderRow
>(
  'read_provenance_older',
  `
SELECT v.memory_id::text AS "memoryId", v.id::text, v.operation, ${time('v.created_at')} AS "createdAt",
  ${time('v.superseded_at')} AS "supersededAt", v.origin, v.content, v.splice_start AS "spliceStart",
  v.splice_length AS "spliceLength"
FROM (
  SELECT older.*, sum(octet_length(older.content)) OVER (ORDER BY older.memory_id, older.id DESC) AS total
  FROM unnest($memoryIds::text[], $ids::text[]) AS n (memory_id, id) CROSS JOIN LATERAL (
    SELECT * FROM versions
    WHERE tenant_id = $tenant AND memory_id = n.memory_id::uuid AND id < n.id::uuid
    ORDER BY memory_id DESC, id DESC LIMIT $limit::integer
  ) AS older
) AS v
WHERE COALESCE(v.total, 0) <= $maxBytes::bigint ORDER BY v.memory_id, v.id DESC
`,
);

const findBaseTimeQuery = defineQuery<{ tenant: string; draft: string }, { baseAt: string }>(
  'find_provenance_base',
  `SELECT ${time('base_at')} AS "baseAt" FROM drafts WHERE tenant_id = $tenant AND id = $draft`,
);

/** A version that may have written a line. */
export interface Writer {
  /** ISO 8601 in UTC. */
  createdAt: string;
  origin: Origin | null;
  /** Whether the version belongs to an open draft. */
  isProposed: boolean;
}

/** A file's texts, and each version's writer, newest first. */
export interface FileHistory {
  text: TextHistory;
  writers: readonly Writer[];
}

/** A memory whose files are read. */
export interface Source {
  tenant: string;
  /** The tenant's creation time; null accepts any tenant with the ID. */
  createdAt: string | null;
  /** Original tenant, if the memory is a draft. */
  draftOf: string | null;
}

/** Reads the files at paths with their histories. Missing files, and files beyond the limit, are not in the map. */
export async function readFileHistories(
  query: QueryExecutor,
  { tenant, createdAt, draftOf }: Source,
  paths: string[],
): Promise<Map<string, FileHistory>> {
  const read: QueryExecutor = (statement, params) => runWithRetries(true, () => query(statement, params));
  const { rows } = await read(readCurrentQuery, {
    tenant,
    createdAt,
    paths,
    maxBytes: MAX_CONTENT_BYTES,
  });
  const chains = rows.map((current) => ({ current, older: [] as OlderRow[] }));
  await addOlder(read, tenant, chains);
  let baseAt: string | undefined;
  if (draftOf !== null) {
    baseAt = (await read(findBaseTimeQuery, { tenant: draftOf, draft: tenant })).rows[0]?.baseAt;
    await addOlder(read, draftOf, chains);
  }
  const histories = new Map<string, FileHistory>();
  for (const chain of chains) {
    const history = toHistory(chain, baseAt);
    if (history !== undefined) histories.set(chain.current.path, history);
  }
  return histories;
}

interface Chain {
  current: VersionRow & { path: string; content: string | null };
  older: OlderRow[];
}

/** Adds the versions before each chain's oldest version. */
async function addOlder(query: QueryExecutor, tenant: string, chains: readonly Chain[]): Promise<void> {
  const unfinished = chains.filter(
    ({ current, older }) => current.content !== null && (older.at(-1) ?? current).operation !== 'created',
  );
  if (unfinished.length === 0) return;
  const oldest = unfinished.map(({ current, older }) => older.at(-1) ?? current);
  const { rows } = await query(readOlderQuery, {
    tenant,
    memoryIds: oldest.map(({ memoryId }) => memoryId),
    ids: oldest.map(({ id }) => id),
    limit: Math.min(MAX_FILE_VERSIONS, Math.ceil(MAX_VERSIONS / unfinished.length)),
    maxBytes: MAX_HISTORY_BYTES,
  });
  const byFile = Map.groupBy(rows, ({ memoryId }) => memoryId);
  for (const { current, older } of unfinished) older.push(...(byFile.get(current.memoryId) ?? []));
}

/** @param baseAt a draft's base time; undefined for other memories */
function toHistory({ current, older }: Chain, baseAt: string | undefined): FileHistory | undefined {
  if (current.content === null) return undefined;
  const steps: Step[] = [];
  const versions: VersionRow[] = [current];
  let newest: VersionRow = current;
  for (const row of older) {
    // A version that is not the predecessor, or has no content, hides the change to the next version.
    if (newest.operation === 'created' || row.supersededAt !== newest.createdAt || row.content === null)
      break;
    steps.push({ start: row.spliceStart ?? 0, length: row.spliceLength, text: row.content });
    versions.push(row);
    newest = row;
  }
  return {
    text: { content: current.content, steps, isComplete: newest.operation === 'created' },
    writers: versions.map(({ createdAt, origin }) => ({
      createdAt,
      origin,
      isProposed: baseAt !== undefined && createdAt > baseAt,
    })),
  };
}
