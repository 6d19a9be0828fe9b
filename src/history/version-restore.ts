import { randomUUID } from 'node:crypto';
import { OperatorError } from '../errors.ts';
import { ancestorsOf, type MemoryPath, ROOT } from '../memory/path.ts';
import type { Database } from '../postgres/database.ts';
import { changeOrTry } from '../postgres/dry-run.ts';
import type { QueryExecutor } from '../postgres/query.ts';
import { storedOrigin } from '../store/origin.ts';
import { callOn, createFunction } from '../store/write-functions.ts';
import { noRoom } from '../tenants/tenants.ts';
import type { ChangeOptions, Changes } from './apply.ts';
import { findAroundQuery } from './apply-queries.ts';
import { History } from './history.ts';
import {
  anotherPath,
  cannotComeBack,
  lockVersion,
  type RestorableVersion,
  restoreLocked,
} from './restore.ts';
import { listHeadsQuery } from './restore-queries.ts';

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
