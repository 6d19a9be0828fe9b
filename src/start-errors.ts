import type { Config } from './config.ts';
import { damagedDatabase } from './embedded/data-directory.ts';
import { describeDatabase } from './postgres/database.ts';
import { asDatabaseError, describe } from './postgres/errors.ts';

const UNKNOWN_HOST =
  'the name does not resolve to an address; set $HOST to an address of this machine, such as 127.0.0.1';
const LISTEN_FAULTS: Partial<Record<string, string>> = {
  EADDRINUSE: 'the port is in use; set $PORT to another',
  EACCES: 'this user may not use the port; set $PORT to one above 1023',
  EADDRNOTAVAIL:
    'no network interface of this machine has the address; set $HOST to one that has, such as 127.0.0.1',
  EAFNOSUPPORT:
    'this machine does not have that kind of address; set $HOST to one that it has, such as 127.0.0.1',
  ENOTFOUND: UNKNOWN_HOST,
  EAI_AGAIN: UNKNOWN_HOST,
};
const EMBEDDED_FAULTS: Partial<Record<string, string>> = {
  25006: 'its disk is nearly full; make room, or set DATA_DIR to a folder on another disk',
  53100: 'its disk is full; make room, or set DATA_DIR to a folder on another disk',
};
const NOT_RESOLVED = 'the host name does not resolve to an address; check DATABASE_URL';

/** By error code of the system, and by SQLSTATE. */
const DATABASE_FAULTS: Partial<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there; check DATABASE_URL, and that the server runs',
  ENOTFOUND: NOT_RESOLVED,
  EAI_AGAIN: NOT_RESOLVED,
  '28P01': 'it refuses the user or the password; check both in DATABASE_URL',
  28000: "it rejects this user from this address; check DATABASE_URL and the server's pg_hba.conf",
  '3D000': 'there is no such database on the server; create it, or check DATABASE_URL',
  42501: 'the user may not create tables; make it the owner of the database',
  '08P01': 'a pooler there refuses the connection; its log says why',
  25006: 'it is read-only; check that DATABASE_URL names the primary',
};

/**
 * One line on why the service cannot listen, and what to do.
 *
 * @param address.variables what the names of the variables for the address begin with
 */
export function describeListenFault(
  { host, port, variables }: { host: string; port: number; variables: '' | 'ADMIN_' },
  error: unknown,
): string {
  const { code = '' } = error as NodeJS.ErrnoException;
  const reason = (LISTEN_FAULTS[code] ?? code).replace(/\$(?=HOST|PORT)/, variables);
  return `Cannot listen on ${host}:${port}: ${reason}.`;
}

/** One line on why the database cannot be used, and what to do. It holds neither the user nor the password. */
export function describeStartFault(config: Config, error: unknown): string {
  const { faultCode = '', sqlState, accessFault } = asDatabaseError(error);
  if (config.DATABASE_URL === undefined) {
    const reason = EMBEDDED_FAULTS[faultCode];
    if (reason !== undefined) return `${capitalize(describeDatabase(config))} cannot be used: ${reason}.`;
    return damagedDatabase(config.DATA_DIR, sqlState ? `SQLSTATE ${sqlState}` : describe(error)).message;
  }
  const reason =
    DATABASE_FAULTS[faultCode] ??
    `${accessFault ?? (sqlState ? `SQLSTATE ${sqlState}` : describe(error))}; check DATABASE_URL, and that the server runs`;
  return `${capitalize(describeDatabase(config))} cannot be used: ${reason}.`;
}

/** One line for a command that finds no schema of this version. */
export function describeUnmigrated(config: Config): string {
  return `${capitalize(describeDatabase(config))} is not set up for this version. Run memory-service migrate, or start the service.`;
}

function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
