import type { Socket } from 'node:net';
import { join } from 'node:path';
import type { Snapshot } from '../postgres/database.ts';
import type { Query, Value } from '../postgres/query.ts';

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
