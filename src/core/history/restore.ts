import { randomUUID } from 'node:crypto';
import type { Database } from '../database/database.ts';
import { defineQuery, type QueryExecutor, time } from '../database/query.ts';
import { ServiceError } from '../errors/errors.ts';
import { timeSliced } from '../lib/time-slice.ts';
import { type MemoryPath, ROOT } from '../memory/path.ts';
import { apply, type ChangeOptions, changeTenant, isChange, planChange, readTimes } from './apply.ts';
import { History } from './history.ts';
import type { Changes } from './log.ts';
import { checkComplete, historyIncomplete } from './past.ts';
import type { DirectoryTargets, PlannedFile, RestoreTarget } from './restore-plan.ts';
import { AFTER, COVERS } from './version.ts';

/*
 * Restores files and directories to a past state. Each statement reads all files in a change, in one snapshot or while
 * the tenant is locked. IDs are sent as text.
 *
 * `OFFSET 0` and `LIMIT 1` force Postgres to look up each item by its key. Otherwise it would scan the tenant's rows
 * once for each item if its statistics suggest that tenants are small.
 */

interface VersionState {
  memoryId: string;
  versionId: string;
  /** Null for redacted versions. */
  path: MemoryPath | null;
  /** SHA-256 of the content, hexadecimal. Null for deletions and redacted versions. */
  sha256: string | null;
  sizeBytes: number | null;
  createdAt: string;
}

const HEAD = `
  e.memory_id AS "memoryId", e.version AS "versionId", e.path, encode(memory_sha256(e.content), 'hex') AS sha256,
  e.size_bytes AS "sizeBytes", ${time('e.changed_at')} AS "createdAt"`;
const PAST = `
  v.memory_id AS "memoryId", v.id AS "versionId", v.path, encode(v.content_sha256, 'hex') AS sha256,
  v.size_bytes AS "sizeBytes", ${time('v.created_at')} AS "createdAt"`;

const listHeadsQuery = defineQuery<{ tenant: string; path: string }, VersionState>(
  'list_heads',
  `SELECT ${HEAD} FROM entries AS e WHERE e.tenant_id = $tenant AND e.kind = 'file' AND memory_in_subtree(e.path, $path)`,
);

const findHeadsQuery = defineQuery<{ tenant: string; memoryIds: string[] }, VersionState>(
  'find_heads',
  `
SELECT ${HEAD}
FROM unnest($memoryIds::text[]::uuid[]) AS f (id), LATERAL (
  SELECT * FROM entries WHERE tenant_id = $tenant AND memory_id = f.id OFFSET 0
) AS e
`,
);

/**
 * Lists the superseded versions that were current at or below a path at a time. A redacted version has no path. It is
 * included if the path is the root, or if another version of its file was at or below the path.
 */
const listPastQuery = defineQuery<{ tenant: string; path: string; at: string }, VersionState>(
  'list_past',
  `
SELECT ${PAST} FROM versions AS v
WHERE v.tenant_id = $tenant AND ${COVERS('v.created_at', 'v.superseded_at', '$at')} AND (
  memory_in_subtree(v.path, $path) OR (v.redacted_at IS NOT NULL AND ($path = '/memories' OR EXISTS (
    SELECT FROM versions AS other
    WHERE other.tenant_id = $tenant AND other.memory_id = v.memory_id AND memory_in_subtree(other.path, $path)
  )))
)
`,
);

const findPastQuery = defineQuery<{ tenant: string; memoryIds: string[]; at: string }, VersionState>(
  'find_past',
  `
SELECT ${PAST} FROM unnest($memoryIds::text[]::uuid[]) AS f (id), LATERAL (
  SELECT * FROM versions WHERE tenant_id = $tenant AND memory_id = f.id AND id < ${AFTER('$at')}
  ORDER BY memory_id DESC, id DESC LIMIT 1
) AS v
WHERE ${COVERS('v.created_at', 'v.superseded_at', '$at')}
`,
);

/** Lists directories at or below a path, without the root, that exist now or existed at a time. */
const listDirectoriesQuery = defineQuery<
  { tenant: string; path: string; at: string },
  { path: MemoryPath; isThere: boolean; wasThere: boolean }
>(
  'list_directories',
  `
SELECT d.path, bool_or(d.removed_at IS NULL) AS "isThere",
  bool_or(${COVERS('d.created_at', 'd.removed_at', '$at')}) AS "wasThere"
FROM memory_directories AS d WHERE d.tenant_id = $tenant AND memory_in_subtree(d.path, $path) GROUP BY d.path
`,
);

const NO_DIRECTORIES = { wanted: new Set<MemoryPath>(), unwanted: new Set<MemoryPath>() };

/**
 * Restores a file, or a directory with its descendants, to its state at a time. Affects all files that are at or below
 * the path now or were at or below it at that time. Files that were moved are moved back. The restore is atomic. Except
 * in a dry run, the tenant's writers wait until the restore ends.
 *
 * @throws ServiceError if the history is incomplete at that time, another entry blocks a path, a version was redacted,
 *   or the result would exceed the quota
 */
export function restoreAt(
  database: Database,
  tenant: string,
  { path, at }: { path: MemoryPath; at: string },
  options: ChangeOptions,
): Promise<Changes> {
  return changeTenant(database, tenant, options, async (query) => {
    const { time, from } = await readTimes(query, tenant, at);
    // Before the tenant's creation, the memory was empty. Restoring such a time would delete all files. A time that is
    // too early is more likely a mistake.
    if (from !== time) throw historyIncomplete(tenant, from);
    const targets = await filesAt(query, tenant, path, time);
    const { rows } = await query(listDirectoriesQuery, { tenant, path, at: time });
    const isKnown = rows.some(({ isThere, wasThere }) => isThere || wasThere);
    if (targets.length === 0 && !isKnown && path !== ROOT) {
      throw new ServiceError('nothing_to_restore', path);
    }
    const directories = {
      wanted: new Set(rows.filter(({ wasThere }) => wasThere).map((row) => row.path)),
      unwanted: new Set(rows.filter(({ isThere, wasThere }) => isThere && !wasThere).map((row) => row.path)),
    };
    return restore(query, tenant, targets, directories, options, null);
  });
}

/**
 * Restores a file version. Without `path`, a deleted file is created again, and a moved file is moved back to the
 * version's path. With `path`, the version's content is written to `path`. If the file is at `path` or is deleted, the
 * file itself is restored. Otherwise the restore creates a copy with a new file ID.
 *
 * @throws ServiceError if the version does not exist or has no content, another entry blocks the path, or the result
 *   would exceed the quota
 */
export function restoreVersion(
  database: Database,
  tenant: string,
  { version: given, path }: { version: string; path?: MemoryPath | undefined },
  options: ChangeOptions,
): Promise<Changes> {
  return changeTenant(database, tenant, options, async (query) => {
    const version = await new History({ query }).requireVersion(tenant, given);
    if (version.redactedAt !== null) throw new ServiceError('version_redacted', version.id);
    if (version.contentSha256 === null || version.contentSizeBytes === null) {
      throw new ServiceError('version_is_deletion', version.id);
    }
    const [head] = (await query(findHeadsQuery, { tenant, memoryIds: [version.memoryId] })).rows;
    const to = {
      path: path ?? (version.path as MemoryPath),
      versionId: version.id,
      sha256: version.contentSha256,
      sizeBytes: version.contentSizeBytes,
    };
    const isCopy = path !== undefined && head !== undefined && head.path !== path;
    const target = isCopy
      ? { memoryId: randomUUID(), from: null, to }
      : { memoryId: version.memoryId, from: head === undefined ? null : toPlannedFile(head), to };
    return restore(query, tenant, [target], NO_DIRECTORIES, options, version.id);
  });
}

/** @param version the restored version, for the error message; null for a restore to a time */
async function restore(
  query: QueryExecutor,
  tenant: string,
  targets: readonly RestoreTarget[],
  directories: DirectoryTargets,
  options: ChangeOptions,
  version: string | null,
): Promise<Changes> {
  const plan = await planChange(query, tenant, targets.filter(isChange), directories);
  const [file] = plan.blockedTargets;
  const [directory] = plan.blockedDirectories;
  const blocked = file === undefined ? directory : { path: file.target.to?.path, blockedBy: file.blockedBy };
  if (blocked !== undefined) {
    const { path = blocked.blockedBy, blockedBy } = blocked;
    throw new ServiceError('cannot_restore', tenant, version, path, blockedBy);
  }
  return apply(query, tenant, plan, options, 'restore');
}

/** Pairs each file's current and past state, if the file is at or below a path now or was there at a time. */
async function filesAt(
  query: QueryExecutor,
  tenant: string,
  path: MemoryPath,
  at: string,
): Promise<RestoreTarget[]> {
  const now = new Map<string, PlannedFile>();
  const past = new Map<string, PlannedFile>();
  for await (const head of timeSliced((await query(listHeadsQuery, { tenant, path })).rows)) {
    now.set(head.memoryId, toPlannedFile(head));
    if (head.createdAt <= at) past.set(head.memoryId, toPlannedFile(head));
  }
  for await (const version of timeSliced((await query(listPastQuery, { tenant, path, at })).rows)) {
    past.set(version.memoryId, toPlannedFile(version));
  }
  const wasThere = [...past.values()].some((state) => state.path === path);

  const left = [...past.keys()].filter((memoryId) => !now.has(memoryId));
  for await (const head of timeSliced((await query(findHeadsQuery, { tenant, memoryIds: left })).rows)) {
    now.set(head.memoryId, toPlannedFile(head));
  }
  const came = [...now.keys()].filter((memoryId) => !past.has(memoryId));
  for await (const version of timeSliced(
    (await query(findPastQuery, { tenant, memoryIds: came, at })).rows,
  )) {
    past.set(version.memoryId, toPlannedFile(version));
  }
  const memoryIds = new Set([...now.keys(), ...past.keys()]);
  // If a file was at the path itself, no other file can have been below it. Otherwise, pruning may have removed files
  // that existed at that time.
  if (!wasThere || memoryIds.size > past.size) await checkComplete(query, tenant, at);
  return [...memoryIds].map((memoryId) => ({
    memoryId,
    from: now.get(memoryId) ?? null,
    to: past.get(memoryId) ?? null,
  }));
}

/** @throws ServiceError if the version is redacted */
function toPlannedFile({ versionId, path, sha256, sizeBytes }: VersionState): PlannedFile {
  if (path === null || sha256 === null || sizeBytes === null)
    throw new ServiceError('version_redacted', versionId);
  return { path, versionId, sha256, sizeBytes };
}
