import { hostname, userInfo } from 'node:os';
import { Transfer } from '../archive/transfer.ts';
import { type AuditSubject, beginAudit } from '../audit/audit.ts';
import type { Config } from '../config.ts';
import { OperatorError, ServiceError } from '../errors.ts';
import { History } from '../history/history.ts';
import type { Origin } from '../memory/origin.ts';
import type { Database } from '../postgres/database.ts';
import { asDatabaseError } from '../postgres/errors.ts';
import { tenantDefaults } from '../tenants/effective-settings.ts';
import type { TenantRow } from '../tenants/queries.ts';
import { requireTenant } from '../tenants/tenants.ts';

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
export async function audited<T>(
  database: Database,
  action: string,
  { dryRun = false, ...subject }: AuditSubject & { dryRun?: boolean | undefined },
  work: (note: (more: AuditSubject) => void) => Promise<T>,
): Promise<T> {
  const { actor } = operatorOrigin();
  const intent = {
    actor,
    action,
    channel: 'command_line',
    address: hostname(),
    requestId: null,
    dryRun,
  } as const;
  const event = await beginAudit(database, intent, subject);
  let noted = subject;
  try {
    const result = await work((more) => {
      noted = { ...noted, ...more, details: { ...noted.details, ...more.details } };
    });
    await event.finish('ok', noted);
    return result;
  } catch (error) {
    await event.finish(codeOf(error), noted).catch(() => {});
    throw error;
  }
}

function codeOf(error: unknown): string {
  if (error instanceof OperatorError) return 'refused';
  return error instanceof ServiceError ? error.code : asDatabaseError(error).code;
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
  transfer: Transfer;
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
      transfer: new Transfer(database, tenantDefaults(config)),
      history: new History(database),
    });
  });
}
