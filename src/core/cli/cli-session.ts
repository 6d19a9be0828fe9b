import { hostname, userInfo } from 'node:os';
import type { Operator } from '../admin/admin-operation.ts';
import type { Config } from '../config.ts';
import type { Database } from '../database/database.ts';
import { OperatorError } from '../errors/errors.ts';
import type { Origin } from '../memory/origin.ts';
import { type AuditSubject, runAudited as recordAudited } from '../tenants/audit.ts';
import type { Io } from './io.ts';
import { printLine } from './output.ts';

export type Open = () => Promise<{ config: Config; database: Database }>;

/**
 * Opens a database by its URL or directory. With `migrate`, the function also migrates the database and creates a
 * missing embedded database.
 */
export type OpenPlace = (place: string, options: { migrate: boolean }) => Promise<Database>;

/**
 * Makes a change and records it in the audit trail.
 *
 * @param action the operation's ID in admin-openapi.yaml, or another name
 * @param work receives a function that adds details to the record
 */
export function runAudited<T>(
  { database, io }: { database: Database; io: Io },
  action: string,
  { dryRun = false, ...subject }: AuditSubject & { dryRun?: boolean | undefined },
  work: (note: (more: AuditSubject) => void) => Promise<T>,
): Promise<T> {
  const { actor } = operatorOrigin();
  const intent = { action, dryRun, channel: 'command_line', address: hostname(), requestId: null } as const;
  return recordAudited(database, { ...intent, actor }, subject, work, {
    describeOutcome: (error) => (error instanceof OperatorError ? 'rejected' : undefined),
    onUnrecorded: () =>
      printLine(io.stderr, 'Warning: the outcome of this command could not be recorded in the audit trail.'),
  });
}

export function currentOperator(): Operator {
  return { name: userName(), host: hostname() };
}

export function operatorOrigin(): Origin {
  return { actor: { type: 'operator', name: userName() } };
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // In a container, a user may have no name.
    return String(process.getuid?.() ?? 'unknown');
  }
}
