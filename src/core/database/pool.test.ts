/** The server sends bytes that are not Postgres' protocol, or a message that pg does not support. */
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect, it } from 'vitest';
import { DatabaseError } from './database-errors.ts';
import { Connection } from './pool.ts';

it.each([
  [
    'a request for GSSAPI',
    'R\0\0\0\x08\0\0\0\x07',
    'it asks for a kind of authentication that the service does not have; use scram-sha-256 for this user in pg_hba.conf',
  ],
  [
    'a fatal error of a pooler',
    'E\0\0\0\x30SFATAL\0CXX000\0MTenant or user ada not found\0\0',
    'SQLSTATE XX000; check DATABASE_URL, and the log of the server',
  ],
  [
    'HTTP',
    'HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n',
    'the connection was closed; check that a Postgres server listens there, and its log',
  ],
])(
  'reports an error with the reason, instead of ending the process, if the server sends %s',
  async (_, response, reason) => {
    const server = createServer((socket) => socket.once('data', () => socket.end(response)));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    const connection = new Connection({ connectionString: `postgres://ada:secret@127.0.0.1:${port}/memory` });
    const fault = await connection.connect().catch((error) => new DatabaseError(error, { connecting: true }));
    expect(fault).toMatchObject({ code: 'database_unavailable', unavailability: reason });
    server.close();
  },
);
