import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { OperatorError } from '../errors/errors.ts';
import type { Database, Snapshot } from './database.ts';
import { DatabaseError } from './errors.ts';
import { type Request, type Response, readMessages, socketPath, writeMessage } from './local-socket.ts';
import type { QueryExecutor } from './query.ts';

/**
 * Connects to the embedded database of the process that serves `folder`, through its socket.
 *
 * @returns undefined when no process listens there
 * @throws OperatorError when this user may not connect
 */
export async function connectToServedDatabase(folder: string): Promise<Database | undefined> {
  const path = socketPath(folder);
  const main = await Connection.open(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'EACCES' || error.code === 'EPERM') {
      throw new OperatorError(
        `The service on ${folder} accepts commands only from its own user (${error.code}: ${path}). Run the command as that user.`,
      );
    }
    return undefined;
  });
  if (main === undefined) return undefined;
  const query = executorOn(main);
  return {
    kind: 'pglite',
    batchSize: 1,
    query,
    queryBatch: query,
    transaction: (work, options) => transaction(path, options?.snapshot ?? false, work),
    withJobLock: (lock, job) => withJobLock(path, lock, job),
    migrate: async () => {
      throw new OperatorError(
        `The service on ${folder} has another version than this command. Restart it with this version.`,
      );
    },
    pool: () => ({ total: 1, idle: 0, waiting: 0, max: 1 }),
    close: () => main.close(),
  };
}

/**
 * Whether a process accepts connections on the socket in a data directory. A busy one has a full queue of connections
 * (EAGAIN).
 */
export async function isServed(folder: string): Promise<boolean> {
  try {
    const connection = await Connection.open(socketPath(folder));
    await connection.close();
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EAGAIN';
  }
}

/** Sends requests and returns the responses. Rejects with `DatabaseError` once the peer is gone. */
class Connection {
  readonly #socket: Socket;
  readonly #waiting: { resolve(response: Response): void; reject(error: unknown): void }[] = [];
  /** Why no more responses come. */
  #ended: Error | undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('error', () => {});
    void this.#receive();
  }

  static async open(path: string): Promise<Connection> {
    const socket = connect(path);
    await once(socket, 'connect');
    return new Connection(socket);
  }

  /** @throws DatabaseError */
  async send(request: Request): Promise<Response> {
    if (this.#ended) throw this.#ended;
    const response = await new Promise<Response>((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      writeMessage(this.#socket, request);
    });
    if (response.fault) throw databaseError(response.fault);
    return response;
  }

  async close(): Promise<void> {
    if (this.#socket.closed) return;
    const closed = once(this.#socket, 'close');
    this.#socket.destroy();
    await closed;
  }

  async #receive(): Promise<void> {
    let ended: Error = databaseError({ sqlState: undefined, isUnavailable: true });
    for await (const response of readMessages<Response>(this.#socket)) {
      if (response.idle === undefined) this.#waiting.shift()?.resolve(response);
      else ended = leftAlone(response.idle);
    }
    this.#ended = ended;
    for (const { reject } of this.#waiting.splice(0)) reject(ended);
  }
}

function databaseError({ sqlState, isUnavailable }: NonNullable<Response['fault']>): DatabaseError {
  return new DatabaseError({ code: sqlState ?? (isUnavailable ? 'ECONNRESET' : undefined) });
}

function leftAlone(ms: number): OperatorError {
  return new OperatorError(
    `The service rolled back this command, which had held the database for ${ms / 1000} s without using it. If you export, write to a file (--output) and not to a slow reader.`,
  );
}

function executorOn(connection: Connection): QueryExecutor {
  return async ({ name, sql, parameters }, params) => {
    const { rows = [], count = 0 } = await connection.send({
      do: 'query',
      query: { name, sql, parameters },
      params,
    });
    return { rows: rows as never[], count };
  };
}

async function transaction<T>(
  path: string,
  snapshot: Snapshot,
  work: (query: QueryExecutor) => Promise<T>,
): Promise<T> {
  const connection = await openAgain(path);
  try {
    await connection.send({ do: 'begin', snapshot });
    const result = await work(executorOn(connection));
    await connection.send({ do: 'commit' });
    return result;
  } finally {
    // Rolls back an open transaction.
    await connection.close();
  }
}

async function withJobLock(path: string, lock: number, job: () => Promise<void>): Promise<boolean> {
  const connection = await openAgain(path);
  try {
    const { locked } = await connection.send({ do: 'lock', lock });
    if (locked !== true) return false;
    await job();
    return true;
  } finally {
    await connection.close();
  }
}

/** @throws DatabaseError when the process has stopped serving */
async function openAgain(path: string): Promise<Connection> {
  return Connection.open(path).catch((error) => {
    throw new DatabaseError(error, { connecting: true });
  });
}
