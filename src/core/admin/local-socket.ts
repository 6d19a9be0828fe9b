import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { hostname, userInfo } from 'node:os';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { socketPath } from '../database/data-directory.ts';
import type { AdminAuthenticator } from '../tenants/authenticator.ts';
import { OPERATOR_HEADER } from './admin-operation.ts';

/*
 * Only one process can open an embedded database. While a service runs, commands by the same user on the same machine
 * execute their operations through a Unix domain socket in the data directory (docs/decisions/0006-local-socket.md).
 */

const operatorSchema = z.object({ name: z.string().min(1).max(255), host: z.string().min(1).max(255) });

/**
 * Authenticates every caller as an operator with full access, because only the service's user can open the socket. The
 * caller's name is trusted, because the caller could also change the database's files.
 */
export function operatorAuthentication(): AdminAuthenticator {
  return {
    authenticate({ headers }) {
      const { name, host } = parseOperator(String(headers[OPERATOR_HEADER] ?? ''));
      return { actor: { type: 'operator', name }, access: 'read_write', onlyTenants: null, host };
    },
    close: async () => {},
  };
}

function parseOperator(header: string): z.output<typeof operatorSchema> {
  try {
    return operatorSchema.parse(JSON.parse(decodeURIComponent(header)));
  } catch {
    // Programs other than the command line do not send the header.
    return { name: String(process.getuid?.() ?? userInfo().username), host: hostname() };
  }
}

/**
 * Listens on a socket in a data directory that this process has locked. The socket has mode 0600 from its creation,
 * because a connection gives full access to every tenant's memory.
 *
 * @throws NodeJS.ErrnoException if the socket cannot be created, because its path is too long or the file system does
 *   not support sockets
 */
export async function listenOnSocket(app: FastifyInstance, directory: string): Promise<void> {
  const { server } = app;
  const path = socketPath(directory);
  await app.ready();
  // The lock is held, so an existing socket is left over from an earlier process.
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
