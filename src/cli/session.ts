import { hostname, userInfo } from 'node:os';
import type { Config } from '../config.ts';
import type { Database } from '../database/database.ts';
import { OperatorError } from '../errors/errors.ts';
import { History } from '../history/history.ts';
import type { Origin } from '../memory/origin.ts';
import { type AuditSubject, audited as recordAudited } from '../tenants/audit.ts';
import type { TenantRow } from '../tenants/queries.ts';
import { requireTenant } from '../tenants/tenants.ts';
import type { Io } from './io.ts';
import { printLine } from './output.ts';

/** Opens the database that the environment configures. */
export type Open = () => Promise<{ config: Config; database: Database }>;

/** Opens a database by its URL or folder. With `migrate`, brings it up to date, and creates an embedded one. */
export type OpenPlace = (place: string, options: { migrate: boolean }) => Promise<Database>;

/** Runs a command's work on the database and always closes it. */
export async function withDatabase<T>(
  open: Open,
  work: (session: { config: Config; database: Database }) => Promise<T>,
): Promise<T> {
  const session = await open();
  try {
    return await work(session);
  } finally {
    await session.database.close();
  }
}

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

export interface TenantSession {
  config: Config;
  database: Database;
  tenant: TenantRow;
  history: History;
}

/**
 * Runs a command's work on the memory of a tenant, which may be suspended.
 *
 * @throws ServiceError when there is no such tenant.
 */
export function withTenant<T>(
  open: Open,
  id: string,
  work: (session: TenantSession) => Promise<T>,
): Promise<T> {
  return withDatabase(open, async ({ config, database }) => {
    const tenant = await requireTenant(database, id);
    return work({
      config,
      database,
      tenant,
      history: new History(database),
    });
  });
}
