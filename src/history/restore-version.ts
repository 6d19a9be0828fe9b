import { randomUUID } from 'node:crypto';
import { OperatorError, ServiceError } from '../errors.ts';
import { ancestorsOf, type MemoryPath, ROOT } from '../memory/path.ts';
import type { Database } from '../postgres/database.ts';
import { changeOrTry } from '../postgres/dry-run.ts';
import type { QueryExecutor } from '../postgres/query.ts';
import { storedOrigin } from '../store/origin.ts';
import { callOn, createFunction } from '../store/write-functions.ts';
import { lockTenantQuery } from '../tenants/queries.ts';
import { noRoom } from '../tenants/tenants.ts';
import { type ChangeOptions, type Changes, findAroundQuery } from './apply.ts';
import { findVersionQuery, History } from './history.ts';
import type { PlannedFile } from './plan.ts';
import { findHeadsQuery, isRedacted, known, listHeadsQuery, restore } from './restore.ts';
import { isFullVersionId, noVersion } from './version.ts';

const NO_DIRECTORIES = { wanted: new Set<MemoryPath>(), unwanted: new Set<MemoryPath>() };

/**
 * Restores a version of a file. Without a path, the file becomes what it was: a deleted file comes back, and one that has moved moves
 * back. With a path, the version's content comes to that path, and nothing else changes: the file itself if it is there or deleted,
 * and otherwise a copy, which is a new file.
 *
 * @throws OperatorError when there is no such version, it has no content, something else is at the path, or the quota would be exceeded
 */
export function restoreVersion(
  database: Database,
  tenant: string,
  { version, path }: { version: string; path?: MemoryPath | undefined },
  options: ChangeOptions,
): Promise<Changes> {
  return changeOrTry(database, options.dryRun ?? false, async (query) => {
    const found = await lockVersion(query, tenant, version);
    const isElsewhere = path !== undefined && found.now !== null && found.now.path !== path;
    return isElsewhere
      ? copyTo(query, tenant, found, path, options)
      : restoreLocked(query, tenant, found, path ?? found.path, options);
  });
}

async function copyTo(
  query: QueryExecutor,
  tenant: string,
  { id, memoryId }: RestorableVersion,
  path: MemoryPath,
  { origin, defaults }: ChangeOptions,
): Promise<Changes> {
  const content = (await new History({ query }).contents(tenant, [{ memoryId, versionId: id }])).get(id);
  if (content === undefined) throw new Error('A version that is locked has no content.');
  if (path === ROOT) throw cannotComeBack(path, path, anotherPath(tenant, id));
  const ancestors = ancestorsOf(path);
  const { rows } = await query(findAroundQuery, { tenant, paths: ancestors, parents: [] });
  const present = new Set(rows.map((row) => row.path));
  const created = await callOn(query)(createFunction, {
    ...{ tenant, path, content, version: randomUUID(), autoCreate: false },
    ...{ ...defaults, origin: storedOrigin(origin), keyHash: null, requestHash: null, answer: '' },
  });
  switch (created.kind) {
    case 'created': {
      const [head] = (await query(listHeadsQuery, { tenant, path })).rows;
      if (head === undefined) throw new Error('A file that was created is not there.');
      return {
        files: [{ change: 'added', memoryId: head.memoryId, path }],
        directoriesMade: ancestors.filter((each) => !present.has(each)).sort(),
        directoriesRemoved: [],
      };
    }
    case 'exists':
      throw cannotComeBack(path, path, anotherPath(tenant, id));
    case 'not_a_directory':
      throw cannotComeBack(path, created.path, anotherPath(tenant, id));
    case 'over_quota':
      throw noRoom(tenant, created, 'restore');
    default:
      throw new OperatorError(`The file ${path} could not be created: ${created.kind}.`);
  }
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
