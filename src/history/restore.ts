import { OperatorError, ServiceError } from '../errors.ts';
import { type MemoryPath, ROOT } from '../memory/path.ts';
import type { Database } from '../postgres/database.ts';
import type { QueryExecutor } from '../postgres/query.ts';
import { lockTenantQuery } from '../tenants/queries.ts';
import { refuseArchived } from '../tenants/stores.ts';
import { apply, type ChangeOptions, type Changes, change, isChange, plan } from './apply.ts';
import { checkComplete, HistoryIncomplete } from './history.ts';
import type { PlannedFile, Target } from './plan.ts';
import { findVersionQuery } from './queries.ts';
import {
  findHeadsQuery,
  findPastQuery,
  listDirectoriesQuery,
  listHeadsQuery,
  listPastQuery,
  type VersionState,
} from './restore-queries.ts';
import { isFullVersionId, noVersion } from './version-ids.ts';

const NO_DIRECTORIES = { wanted: new Set<MemoryPath>(), unwanted: new Set<MemoryPath>() };

/**
 * Makes a path, a file or a directory with all below it, what it was at a time: the files that are there now or were there then, and
 * the directories. Files that were or have gone elsewhere move back. All or nothing; the tenant's writers wait meanwhile unless it is a dry run, readers do not.
 *
 * @throws HistoryIncomplete for a time before the history is complete
 * @throws OperatorError when something is in the way, was redacted, or would exceed the quota. `DatabaseError` otherwise.
 */
export function restoreAt(
  database: Database,
  tenant: string,
  { path, at }: { path: MemoryPath; at: string },
  options: ChangeOptions,
): Promise<Changes> {
  return change(database, tenant, at, options, async (query, { time, from }) => {
    // Nothing was there before the tenant was. To restore that would delete everything, which nobody means by a time that is too early.
    if (from !== time) throw new HistoryIncomplete(tenant, from);
    const targets = await filesAt(query, tenant, path, time);
    const { rows } = await query(listDirectoriesQuery, { tenant, path, at: time });
    const isKnown = rows.some(({ isThere, wasThere }) => isThere || wasThere);
    if (targets.length === 0 && !isKnown && path !== ROOT) {
      throw new OperatorError(`There is nothing at ${path}, and there was nothing then.`, {
        code: 'not_found',
      });
    }
    const wanted = new Set(rows.flatMap(({ path: each, wasThere }) => (wasThere ? [each] : [])));
    const unwanted = new Set(
      rows.flatMap(({ path: each, isThere, wasThere }) => (isThere && !wasThere ? [each] : [])),
    );
    const hint = 'Restore a directory that both are in, or move what is there now out of the way.';
    return restore(query, tenant, targets, { wanted, unwanted }, options, hint);
  });
}

/** A version that can be restored, and where its file is now. */
export interface RestorableVersion {
  id: string;
  memoryId: string;
  path: MemoryPath;
  /** Of the content, in hexadecimal. */
  sha256: string;
  /** Null when the file is deleted. */
  now: PlannedFile | null;
}

/**
 * Locks the tenant and finds a version with a content.
 *
 * @throws OperatorError when there is no such version, or it is a deletion or redacted
 */
export async function lockVersion(
  query: QueryExecutor,
  tenant: string,
  version: string,
): Promise<RestorableVersion> {
  if ((await query(lockTenantQuery, { tenant })).rows.length === 0)
    throw new ServiceError('unknown_tenant', tenant);
  await refuseArchived(query, tenant);
  const [row] = isFullVersionId(version) ? (await query(findVersionQuery, { tenant, id: version })).rows : [];
  if (row === undefined) throw noVersion(tenant, version);
  const { id, memoryId, contentSha256: sha256 } = row;
  if (row.redactedAt !== null) throw isRedacted(id);
  if (sha256 === null) {
    throw new OperatorError(`The version ${id} is a deletion, which has no content. Restore an earlier one.`);
  }
  const [head] = (await query(findHeadsQuery, { tenant, memoryIds: [memoryId] })).rows;
  const now = head === undefined ? null : known(head);
  return { id, memoryId, path: row.path as MemoryPath, sha256, now };
}

/**
 * Makes a file what it was as of a locked version, also when it is deleted or somewhere else now.
 *
 * @param path where the file is to be
 * @throws OperatorError as `restoreAt`
 */
export function restoreLocked(
  query: QueryExecutor,
  tenant: string,
  { id, memoryId, sha256, now }: RestorableVersion,
  path: MemoryPath,
  options: ChangeOptions,
): Promise<Changes> {
  const target = { memoryId, now, past: { path, versionId: id, sha256 } };
  return restore(query, tenant, [target], NO_DIRECTORIES, options, anotherPath(tenant, id));
}

/** What to do when something else is at the path of a version. */
export function anotherPath(tenant: string, version: string): string {
  return `Give another path: memory-service restore ${tenant} PATH --version ${version}`;
}

/** The error for a path that something else has. */
export function cannotComeBack(path: string | undefined, at: MemoryPath, hint: string): OperatorError {
  return new OperatorError(`${path} cannot come back: something else is at ${at} now. ${hint}`);
}

async function restore(
  query: QueryExecutor,
  tenant: string,
  targets: readonly Target[],
  directories: Parameters<typeof plan>[3],
  options: ChangeOptions,
  hint: string,
): Promise<Changes> {
  const planned = await plan(query, tenant, targets.filter(isChange), directories);
  const [file] = planned.blockedTargets;
  const [directory] = planned.blockedDirectories;
  const blocked = file === undefined ? directory : { path: file.target.past?.path, at: file.at };
  if (blocked !== undefined) throw cannotComeBack(blocked.path, blocked.at, hint);
  return apply(query, tenant, planned, options, 'restore');
}

/** What the files that are at a path or below it, or were there at a time, are now and were then. */
async function filesAt(
  query: QueryExecutor,
  tenant: string,
  path: MemoryPath,
  at: string,
): Promise<Target[]> {
  const now = new Map<string, PlannedFile>();
  const past = new Map<string, PlannedFile>();
  for (const head of (await query(listHeadsQuery, { tenant, path })).rows) {
    now.set(head.memoryId, known(head));
    if (head.createdAt <= at) past.set(head.memoryId, known(head));
  }
  for (const version of (await query(listPastQuery, { tenant, path, at })).rows) {
    past.set(version.memoryId, known(version));
  }
  const wasThere = [...past.values()].some((state) => state.path === path);

  const left = [...past.keys()].filter((memoryId) => !now.has(memoryId));
  for (const head of (await query(findHeadsQuery, { tenant, memoryIds: left })).rows) {
    now.set(head.memoryId, known(head));
  }
  const came = [...now.keys()].filter((memoryId) => !past.has(memoryId));
  for (const version of (await query(findPastQuery, { tenant, memoryIds: came, at })).rows) {
    past.set(version.memoryId, known(version));
  }
  const memoryIds = new Set([...now.keys(), ...past.keys()]);
  // Where a file was, nothing else can have been. Otherwise what is not known to have been there may have been pruned.
  if (!wasThere || memoryIds.size > past.size) await checkComplete(query, tenant, at);
  return [...memoryIds].map((memoryId) => ({
    memoryId,
    now: now.get(memoryId) ?? null,
    past: past.get(memoryId) ?? null,
  }));
}

/** @throws OperatorError when the version is redacted. */
function known({ versionId, path, sha256 }: VersionState): PlannedFile {
  if (path === null || sha256 === null) throw isRedacted(versionId);
  return { path, versionId, sha256 };
}

function isRedacted(version: string): OperatorError {
  return new OperatorError(
    `The version ${version} is needed, and was redacted. Restore another time, or a path without it.`,
  );
}
