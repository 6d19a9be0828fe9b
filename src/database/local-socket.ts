import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import type { Database, Snapshot } from './database.ts';
import { asDatabaseError } from './errors.ts';
import type { Query, QueryExecutor, Value } from './query.ts';

/** A request of a command to the process that serves its database: one JSON value per line. */
export type Request =
  | { do: 'query'; query: Statement; params: Record<string, Value> }
  /** Lasts until `commit`. If the connection ends first, the transaction is rolled back. */
  | { do: 'begin'; snapshot: Snapshot }
  | { do: 'commit' }
  /** Lasts until the end of the connection. */
  | { do: 'lock'; lock: number };

export type Statement = Pick<Query<Record<string, Value>, never>, 'name' | 'sql' | 'parameters'>;

/** One per request, in order. `idle` is sent without a request before the connection is closed. */
export interface Response {
  rows?: unknown[];
  count?: number;
  locked?: boolean;
  fault?: { sqlState: string | undefined; isUnavailable: boolean };
  /** How long the transaction was idle before it was rolled back, in milliseconds. */
  idle?: number;
}

/** The socket of the process that serves a data directory. */
export function socketPath(folder: string): string {
  return join(folder, 'memory-service.sock');
}

export function writeMessage(socket: Socket, message: Request | Response): void {
  socket.write(`${JSON.stringify(message)}\n`);
}

/** The messages of the peer, until the connection ends in any way. */
export async function* readMessages<Message>(socket: Socket): AsyncGenerator<Message> {
  socket.setEncoding('utf8');
  let pieces: string[] = [];
  try {
    for await (const chunk of socket) {
      const [first = '', ...others] = String(chunk).split('\n');
      pieces.push(first);
      for (const piece of others) {
        yield JSON.parse(pieces.join('')) as Message;
        pieces = [piece];
      }
    }
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error;
  }
}

/*
 * An embedded database belongs to one process. While that process serves, other commands of this machine and user run
 * their statements through a Unix domain socket in the data directory. See docs/decisions/0006-local-socket.md for
 * why this is not pglite-socket.
 */

/** Thrown to roll back a transaction whose client asks for it or has disconnected. */
class RolledBack extends Error {}

/**
 * Serves a database to commands on this machine that run as the owner of `folder`.
 *
 * @param idleMs how long a command may hold a transaction without using it (0: no limit). Every request waits
 *   meanwhile.
 * @returns a function that ends all connections and rolls back their transactions
 * @throws NodeJS.ErrnoException when the socket cannot be created: the path is too long, or the file system does not
 *   support sockets
 */
export async function serveLocalSocket(
  folder: string,
  database: Database,
  { idleMs }: { idleMs: number },
): Promise<() => Promise<void>> {
  const path = socketPath(folder);
  // A socket that exists is a leftover, because this process holds the data directory.
  rmSync(path, { force: true });
  const sessions = new Map<Socket, Promise<void>>();
  const server = createServer((socket) => {
    const session = new Session(socket, database, idleMs).run().finally(() => sessions.delete(socket));
    sessions.set(socket, session);
  });
  await listenPrivately(server, path);
  return async () => {
    const closed = once(server, 'close');
    server.close();
    const running = [...sessions.values()];
    for (const socket of sessions.keys()) socket.destroy();
    await Promise.all([closed, ...running]);
  };
}

/** Creates the socket with mode 0600, because whoever can connect can read and change every tenant's memory. */
async function listenPrivately(server: Server, path: string): Promise<void> {
  const listening = once(server, 'listening');
  const umask = process.umask(0o177);
  try {
    server.listen(path);
  } finally {
    process.umask(umask);
  }
  await listening;
}

/** One connection. Requests are handled one after the other. */
class Session {
  readonly #socket: Socket;
  readonly #database: Database;
  readonly #idleMs: number;
  readonly #requests: AsyncGenerator<Request>;

  constructor(socket: Socket, database: Database, idleMs: number) {
    this.#socket = socket;
    this.#database = database;
    this.#idleMs = idleMs;
    this.#requests = readMessages<Request>(socket);
  }

  /** Resolves when the connection has ended and its transaction is rolled back. */
  async run(): Promise<void> {
    // A broken connection ends the requests, and nobody is left to notify.
    this.#socket.on('error', () => {});
    try {
      for (;;) {
        const request = await this.#next();
        if (request === undefined) return;
        await this.#serve(request);
      }
    } catch {
      // An invalid message does not come from a command of this service.
    } finally {
      this.#socket.destroy();
    }
  }

  async #serve(request: Request): Promise<void> {
    switch (request.do) {
      case 'query':
        return this.#query(this.#database.query, request);
      case 'begin':
        return this.#transaction(request.snapshot);
      case 'lock':
        return this.#holdJobLock(request.lock);
      case 'commit':
        throw new Error('There is no transaction.');
    }
  }

  async #query(query: QueryExecutor, { query: statement, params }: Extract<Request, { do: 'query' }>) {
    this.#respond(await query(statement, params).catch(faultOf));
  }

  async #transaction(snapshot: Snapshot): Promise<void> {
    const work = async (query: QueryExecutor) => {
      this.#respond({});
      for (;;) {
        const request = await this.#nextInTransaction();
        if (request?.do === 'commit') return;
        if (request?.do !== 'query') throw new RolledBack();
        await this.#query(query, request);
      }
    };
    try {
      await this.#database.transaction(work, { snapshot });
      this.#respond({});
    } catch (error) {
      if (error instanceof RolledBack) this.#socket.destroy();
      else this.#respond(faultOf(error));
    }
  }

  /** Holds the lock until the connection ends. */
  async #holdJobLock(lock: number): Promise<void> {
    const held = await this.#database.withJobLock(lock, async () => {
      this.#respond({ locked: true });
      await this.#next();
    });
    if (!held) this.#respond({ locked: false });
  }

  async #nextInTransaction(): Promise<Request | undefined> {
    const expired = () => {
      this.#respond({ idle: this.#idleMs });
      this.#socket.destroySoon();
    };
    const timer = this.#idleMs > 0 ? setTimeout(expired, this.#idleMs) : undefined;
    try {
      return await this.#next();
    } finally {
      clearTimeout(timer);
    }
  }

  /** Undefined when the connection has ended. */
  async #next(): Promise<Request | undefined> {
    return (await this.#requests.next()).value;
  }

  #respond(response: Response): void {
    writeMessage(this.#socket, response);
  }
}

function faultOf(error: unknown): Response {
  const { sqlState, isUnavailable } = asDatabaseError(error);
  return { fault: { sqlState, isUnavailable } };
}
