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
import type { DirectoryTargets, PlannedFile, RestoreTarget } from './plan.ts';
import { AFTER, COVERS } from './version.ts';

/*
 * What `restore` reads. Each statement is for all the files of a change, in one snapshot or while the tenant is
 * locked. Ids go as text.
 *
 * `OFFSET 0` and `LIMIT 1` make Postgres look up each item by its key. It would read the tenant's rows once for each
 * otherwise, where its statistics say that tenants are small.
 */

/** A version as far as a restore needs it. */
interface VersionState {
  memoryId: string;
  versionId: string;
  /** Null once redacted. */
  path: MemoryPath | null;
  /** Of the content, in hexadecimal. Null for a deleted or redacted one. */
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

/** The live files at a path and below it. */
const listHeadsQuery = defineQuery<{ tenant: string; path: string }, VersionState>(
  'list_heads',
  `SELECT ${HEAD} FROM entries AS e WHERE e.tenant_id = $tenant AND e.kind = 'file' AND memory_in_subtree(e.path, $path)`,
);

/** The live files among those with the given ids. */
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
 * The superseded versions of what was at a path and below it at a time. A redacted one has no path: it counts when
 * the path is the root or another version of the file was there.
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

/** The superseded versions of files at a time. */
const findPastQuery = defineQuery<{ tenant: string; memoryIds: string[]; at: string }, VersionState>(
  'find_past',
  `
SELECT ${PAST} FROM unnest($memoryIds::text[]::uuid[]) AS f (id), LATERAL (
  SELECT * FROM versions WHERE tenant_id = $tenant AND memory_id = f.id AND id < ${AFTER('$at')} ORDER BY memory_id DESC, id DESC LIMIT 1
) AS v
WHERE ${COVERS('v.created_at', 'v.superseded_at', '$at')}
`,
);

/** Directories at a path and below it, without the root, that are there or were there at a time. */
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
 * Makes a path, a file or a directory with all below it, what it was at a time: the files that are there now or were
 * there then, and the directories. Files that were or have gone elsewhere move back. All or nothing; the tenant's
 * writers wait meanwhile unless it is a dry run, readers do not.
 *
 * @throws ServiceError for a time before the history is complete, and when something is in the way, was redacted, or
 *   would exceed the quota
 */
export function restoreAt(
  database: Database,
  tenant: string,
  { path, at }: { path: MemoryPath; at: string },
  options: ChangeOptions,
): Promise<Changes> {
  return changeTenant(database, tenant, options, async (query) => {
    const { time, from } = await readTimes(query, tenant, at);
    // Nothing was there before the tenant was. To restore that would delete everything, which nobody means by a time
    // that is too early.
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
 * Restores a version of a file. Without a path, the file becomes what it was: a deleted file comes back, and one that
 * has moved moves back. With a path, the version's content comes to that path, and nothing else changes: the file
 * itself if it is there or deleted, and otherwise a copy, which is a new file.
 *
 * @throws ServiceError when there is no such version, it has no content, something else is at the path, or the quota
 *   would be exceeded
 */
export function restoreVersion(
  database: Database,
  tenant: string,
  { version: given, path }: { version: string; path?: MemoryPath | undefined },
  options: ChangeOptions,
): Promise<Changes> {
  return changeTenant(database, tenant, options, async (query) => {
    const version = await new History({ query }).existingVersion(tenant, given);
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
      : { memoryId: version.memoryId, from: head === undefined ? null : fileOf(head), to };
    return restore(query, tenant, [target], NO_DIRECTORIES, options, version.id);
  });
}

/** @param hint what to do when something else is at a path */
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

/** What the files that are at a path or below it, or were there at a time, are now and were then. */
async function filesAt(
  query: QueryExecutor,
  tenant: string,
  path: MemoryPath,
  at: string,
): Promise<RestoreTarget[]> {
  const now = new Map<string, PlannedFile>();
  const past = new Map<string, PlannedFile>();
  for await (const head of timeSliced((await query(listHeadsQuery, { tenant, path })).rows)) {
    now.set(head.memoryId, fileOf(head));
    if (head.createdAt <= at) past.set(head.memoryId, fileOf(head));
  }
  for await (const version of timeSliced((await query(listPastQuery, { tenant, path, at })).rows)) {
    past.set(version.memoryId, fileOf(version));
  }
  const wasThere = [...past.values()].some((state) => state.path === path);

  const left = [...past.keys()].filter((memoryId) => !now.has(memoryId));
  for await (const head of timeSliced((await query(findHeadsQuery, { tenant, memoryIds: left })).rows)) {
    now.set(head.memoryId, fileOf(head));
  }
  const came = [...now.keys()].filter((memoryId) => !past.has(memoryId));
  for await (const version of timeSliced(
    (await query(findPastQuery, { tenant, memoryIds: came, at })).rows,
  )) {
    past.set(version.memoryId, fileOf(version));
  }
  const memoryIds = new Set([...now.keys(), ...past.keys()]);
  // Where a file was, nothing else can have been. Otherwise what is not known to have been there may have been pruned.
  if (!wasThere || memoryIds.size > past.size) await checkComplete(query, tenant, at);
  return [...memoryIds].map((memoryId) => ({
    memoryId,
    from: now.get(memoryId) ?? null,
    to: past.get(memoryId) ?? null,
  }));
}

/** @throws ServiceError when the version is redacted. */
function fileOf({ versionId, path, sha256, sizeBytes }: VersionState): PlannedFile {
  if (path === null || sha256 === null || sizeBytes === null)
    throw new ServiceError('version_redacted', versionId);
  return { path, versionId, sha256, sizeBytes };
}
