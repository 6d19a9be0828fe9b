import type { Socket } from 'node:net';
import { join } from 'node:path';
import type { Query, Value } from './query.ts';

/** What a command asks of the process that serves its database: one JSON value a line. */
export type Request =
  | { do: 'query'; query: Statement; params: Record<string, Value> }
  /** Until `commit`; without it, the end of the connection rolls back. */
  | { do: 'begin'; snapshot: boolean }
  | { do: 'commit' }
  /** Until the end of the connection. */
  | { do: 'lock'; lock: number };

export type Statement = Pick<Query<Record<string, Value>, never>, 'name' | 'sql' | 'parameters'>;

/** One for each request, in their order; `idle` comes unasked, before the connection is closed. */
export interface Answer {
  rows?: unknown[];
  count?: number;
  locked?: boolean;
  fault?: { sqlState: string | undefined; isUnavailable: boolean };
  /** For how many milliseconds the transaction was left alone before it was rolled back. */
  idle?: number;
}

/** Where the process that serves a data directory listens. */
export function socketPath(folder: string): string {
  return join(folder, 'memory-service.sock');
}

export function writeMessage(socket: Socket, message: Request | Answer): void {
  socket.write(`${JSON.stringify(message)}\n`);
}

/** The messages of the other end, until the connection ends, however it does. */
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
