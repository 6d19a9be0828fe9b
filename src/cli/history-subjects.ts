import { Option } from 'commander';
import { OperatorError } from '../errors.ts';
import { findEntry } from '../files/listing.ts';
import type { History } from '../history/history.ts';
import { SOURCE } from '../history/version.ts';
import { type MemoryPath, ROOT } from '../memory/path.ts';
import type { Database } from '../postgres/database.ts';

/*
 * Called when a command has found nothing, to tell a typo from an empty result.
 */

/** An option that names the actors of a source, instead of one. */
export function sourceOption(description: string): Option {
  return new Option('--source <source>', description).conflicts('by');
}

/** What stands for the actors of a source. */
export function bySource(source: string): string {
  return `${SOURCE}${source}`;
}

/** These are never typos: they stand for a kind of actor. */
const KINDS: ReadonlySet<string> = new Set(['operator', 'anonymous']);

/** @throws OperatorError when an actor has no version in the history */
export async function checkActor(history: History, tenant: string, by: string): Promise<void> {
  if (KINDS.has(by) || (await hasVersion(history, tenant, { by }))) return;
  throw new OperatorError(
    `${JSON.stringify(by)} has made no changes in ${tenant}. See who has: memory-service log ${tenant}`,
  );
}

/** @throws OperatorError when nothing is at a path, and no version was there or below it */
export async function checkPath(
  { history, database }: { history: History; database: Database },
  tenant: string,
  path: MemoryPath,
): Promise<void> {
  if (path === ROOT || (await hasVersion(history, tenant, { path }))) return;
  if ((await findEntry(database, tenant, path)) !== undefined) return;
  throw new OperatorError(
    `${tenant} has no version at ${path} or below it. See: memory-service log ${tenant}`,
  );
}

async function hasVersion(history: History, tenant: string, filter: { by: string } | { path: MemoryPath }) {
  return (await history.versionsPage(tenant, filter, null, 1)).length > 0;
}
