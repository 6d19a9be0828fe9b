import { hostname, userInfo } from 'node:os';
import type { Operator } from '../admin/operation.ts';
import type { Config } from '../config.ts';
import type { Database } from '../database/database.ts';
import { OperatorError } from '../errors/errors.ts';
import type { Origin } from '../memory/origin.ts';
import { type AuditSubject, audited as recordAudited } from '../tenants/audit.ts';
import type { Io } from './io.ts';
import { printLine } from './output.ts';

/** Opens the database that the environment configures. */
export type Open = () => Promise<{ config: Config; database: Database }>;

/** Opens a database by its URL or folder. With `migrate`, brings it up to date, and creates an embedded one. */
export type OpenPlace = (place: string, options: { migrate: boolean }) => Promise<Database>;

/**
 * Makes a change, and records it in the audit trail.
 *
 * @param action the name of the operation in admin-openapi.yaml, where it has one
 * @param work is given a function that adds to what is recorded
 */
export function audited<T>(
  { database, io }: { database: Database; io: Io },
  action: string,
  { dryRun = false, ...subject }: AuditSubject & { dryRun?: boolean | undefined },
  work: (note: (more: AuditSubject) => void) => Promise<T>,
): Promise<T> {
  const { actor } = operatorOrigin();
  const intent = { action, dryRun, channel: 'command_line', address: hostname(), requestId: null } as const;
  return recordAudited(database, { ...intent, actor }, subject, work, {
    outcomeOf: (error) => (error instanceof OperatorError ? 'refused' : undefined),
    onUnrecorded: () =>
      printLine(io.stderr, 'Warning: the outcome of this command could not be recorded in the audit trail.'),
  });
}

/** The user of the operating system who runs a command, and the host. */
export function operatorHere(): Operator {
  return { name: userName(), host: hostname() };
}

/** The origin of the changes of a command: the user of the operating system who runs it. */
export function operatorOrigin(): Origin {
  return { actor: { type: 'operator', name: userName() } };
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // In a container, a user may have only a number.
    return String(process.getuid?.() ?? 'unknown');
  }
}
