import { Option } from 'commander';
import type { Transfer } from '../archive/transfer.ts';
import { OperatorError } from '../errors.ts';
import type { History } from '../history/history.ts';
import { SOURCE } from '../history/version.ts';
import { type MemoryPath, ROOT } from '../memory/path.ts';

/*
 * Called when a command has found nothing, to tell a typo from an empty answer.
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
    `${JSON.stringify(by)} has changed nothing in ${tenant}. See who has: memory-service log ${tenant}`,
  );
}

/** @throws OperatorError when nothing is at a path, and no version was there or below it */
export async function checkPath(
  { history, transfer }: { history: History; transfer: Transfer },
  tenant: string,
  path: MemoryPath,
): Promise<void> {
  if (path === ROOT || (await hasVersion(history, tenant, { path }))) return;
  if ((await transfer.find(tenant, path)) !== undefined) return;
  throw new OperatorError(
    `${tenant} has no version at ${path} or below it. See: memory-service log ${tenant}`,
  );
}

async function hasVersion(history: History, tenant: string, filter: { by: string } | { path: MemoryPath }) {
  return (await history.versionsPage(tenant, filter, null, 1)).length > 0;
}
