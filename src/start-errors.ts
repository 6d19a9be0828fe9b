import type { Config } from './config.ts';
import { damagedDatabase } from './embedded/data-directory.ts';
import { describeDatabase } from './postgres/database.ts';
import { asDatabaseError } from './postgres/errors.ts';

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
  const { faultCode = '', sqlState, unavailability, errorName } = asDatabaseError(error);
  const isEmbedded = config.DATABASE_URL === undefined;
  const code = sqlState ? `SQLSTATE ${sqlState}` : faultCode || errorName;
  const reason = isEmbedded
    ? EMBEDDED_FAULTS[faultCode]
    : (unavailability ?? `${code}; check DATABASE_URL, and the log of the server`);
  if (reason === undefined) return damagedDatabase(config.DATA_DIR, code).message;
  return `${capitalize(describeDatabase(config))} cannot be used: ${reason}.`;
}

/** One line for a command that finds no schema of this version. */
export function describeUnmigrated(config: Config): string {
  return `${capitalize(describeDatabase(config))} is not set up for this version. Run memory-service migrate, or start the service.`;
}

export function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
