import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { hostname, userInfo } from 'node:os';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { socketPath } from '../database/data-directory.ts';
import type { AdminAuthenticator } from '../tenants/authenticator.ts';
import { OPERATOR_HEADER } from './operation.ts';

/*
 * An embedded database belongs to one process. While that process serves, commands of this machine and user run their
 * operations through a Unix domain socket in the data directory (docs/decisions/0006-local-socket.md).
 */

const operatorSchema = z.object({ name: z.string().min(1).max(255), host: z.string().min(1).max(255) });

/**
 * Authenticates whoever can open the socket as an operator, who may do everything. The caller's own name is taken as
 * given: the caller could also change the database's files.
 */
export function operatorAuthentication(): AdminAuthenticator {
  return {
    authenticate({ headers }) {
      const { name, host } = operatorIn(String(headers[OPERATOR_HEADER] ?? ''));
      return { actor: { type: 'operator', name }, access: 'read_write', onlyTenants: null, host };
    },
    close: async () => {},
  };
}

function operatorIn(header: string): z.output<typeof operatorSchema> {
  try {
    return operatorSchema.parse(JSON.parse(decodeURIComponent(header)));
  } catch {
    // Another program than the command line.
    return { name: String(process.getuid?.() ?? userInfo().username), host: hostname() };
  }
}

/**
 * Listens on the socket in a data directory that this process has locked. The socket has mode 0600 from the moment it
 * is bound, because whoever can connect can read and change every tenant's memory.
 *
 * @throws NodeJS.ErrnoException when the socket cannot be created: its path is too long, or the file system does not
 *   support sockets
 */
export async function listenOnSocket(app: FastifyInstance, folder: string): Promise<void> {
  const { server } = app;
  const path = socketPath(folder);
  await app.ready();
  // A socket that exists is a leftover.
  rmSync(path, { force: true });
  const listening = once(server, 'listening');
  const umask = process.umask(0o177);
  try {
    server.listen(path);
  } finally {
    process.umask(umask);
  }
  await listening;
}
