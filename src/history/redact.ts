import { OperatorError } from '../errors.ts';
import { answerRedacted } from '../memory/messages.ts';
import type { Origin } from '../memory/origin.ts';
import type { MemoryPath } from '../memory/path.ts';
import type { Database } from '../postgres/database.ts';
import { storedActor } from '../store/origin.ts';
import { redactAnswersQuery, redactDirectoriesQuery, redactVersionQuery } from './redact-queries.ts';
import { isFullVersionId, noVersion } from './version-ids.ts';

/** Small, so that a statement takes far less than its time limit. */
const ANSWERS_A_BATCH = 2000;

export interface Redacted {
  /** Versions that were redacted: the one asked for, and those with the same content. 0 when it was redacted before. */
  versions: number;
  /** Superseded versions that still have a path that was redacted. */
  samePath: number;
  /** Stored answers that were redacted. */
  answers: number;
}

/**
 * Removes path and content of a superseded version for good, and all stored answers of the tenant: any of them may quote a part of the
 * content. When that is cut short, redact the version again.
 *
 * @throws OperatorError when there is no such version, or a live file has it or its content
 */
export async function redactVersion(
  database: Database,
  tenant: string,
  version: string,
  origin: Origin,
): Promise<Redacted> {
  const params = { tenant, version, by: storedActor(origin.actor) };
  const row = isFullVersionId(version)
    ? (await database.query(redactVersionQuery, params)).rows[0]
    : undefined;
  if (row?.outcome === 'live') throw stillLive(version, row.head);
  if (row?.outcome !== 'redacted' || row.redactedAt === null) throw noVersion(tenant, version);
  const answers = await redactAnswers(database, tenant, row.redactedAt);
  return { versions: row.versions, samePath: row.samePath, answers };
}

/** The error for a version whose content a live file has. */
export function stillLive(version: string, head: string | null): OperatorError {
  return new OperatorError(
    head === version
      ? `The version ${version} is the live file. Edit or delete the file first, then redact this version.`
      : `The version ${version} has the content of a live file, whose version is ${head}. Edit or delete that file first, then redact this version.`,
  );
}

/**
 * Removes for good the names of the directories that were at a path and below it, and all stored answers of the tenant. Names of
 * directories that held files go with the redaction of the files' versions; this is for those that held none.
 *
 * @returns how many were redacted: a directory that was there twice counts twice
 * @throws OperatorError when there was no such directory, something is at the path, or a version that was there is still kept
 */
export async function redactDirectories(
  database: Database,
  tenant: string,
  path: MemoryPath,
): Promise<{ directories: number; answers: number }> {
  // The answers first: without the directories, this could not be done again if it were cut short.
  const { redactedAt } = await callRedactDirectories(database, tenant, path, true);
  const answers = await redactAnswers(database, tenant, redactedAt);
  const { directories } = await callRedactDirectories(database, tenant, path, false);
  return { directories, answers };
}

/** How many directories `redactDirectories` would redact. Throws what that throws. */
export async function countRedactableDirectories(
  database: Database,
  tenant: string,
  path: MemoryPath,
): Promise<number> {
  return (await callRedactDirectories(database, tenant, path, true)).directories;
}

async function callRedactDirectories(database: Database, tenant: string, path: MemoryPath, dryRun: boolean) {
  const row = (await database.query(redactDirectoriesQuery, { tenant, path, dryRun })).rows[0];
  if (row?.outcome === 'live') {
    throw new OperatorError(`${path} is there. Delete or rename it first, then redact its name.`);
  }
  if (row?.outcome === 'kept') {
    throw new OperatorError(
      `The version ${row.version} was at ${path} or below it. Redact the versions of the files there first.`,
    );
  }
  if (row?.outcome !== 'redacted' || row.redactedAt === null) {
    throw new OperatorError(`The tenant ${tenant} has had no directory ${path}.`, { code: 'not_found' });
  }
  return { directories: row.directories, redactedAt: row.redactedAt };
}

/** Redacts the answers that were stored until a time; a later one cannot quote what was gone by then. */
async function redactAnswers(database: Database, tenant: string, until: string): Promise<number> {
  let answers = 0;
  let after: string | null = '';
  while (after !== null) after = await redactBatch(after);
  return answers;

  async function redactBatch(after: string): Promise<string | null> {
    const params = { tenant, after, until, text: answerRedacted, limit: ANSWERS_A_BATCH };
    const batch = (await database.query(redactAnswersQuery, params)).rows[0];
    answers += batch?.redacted ?? 0;
    return batch?.last ?? null;
  }
}
