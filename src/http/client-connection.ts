/*
 * The connection to a client, as far as a response depends on it. Without Fastify, since `memory-service-mcp` uses it
 * too.
 */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';

/** Bytes of a body or response that a client moves in each transfer timeout, unless fewer are left. */
export const MIN_TRANSFER_BYTES = 64 * 1024;
/** The time that a client has for any response, in transfer timeouts. */
const MAX_RESPONSE_PERIODS = 12;
/** A longer response has another transfer timeout for each such part. */
const BYTES_OF_PERIOD = 1024 * 1024;

/** Sends a buffer in parts: Node does not tell how much of a single buffer a client has taken. */
export class PartsOfBuffer extends Readable {
  readonly bytes: number;
  #rest: Buffer;

  constructor(content: Buffer) {
    super({ highWaterMark: MIN_TRANSFER_BYTES });
    this.bytes = content.length;
    this.#rest = content;
  }

  override _read(): void {
    const part = this.#rest.subarray(0, MIN_TRANSFER_BYTES);
    this.#rest = this.#rest.subarray(part.length);
    this.push(part.length === 0 ? null : part);
  }
}

/** Watches how fast a client takes a response. */
export class ResponsePace {
  readonly #response: ServerResponse;
  readonly #socket: Socket;
  readonly #timeoutMs: number;
  #bytesWritten = 0;
  /** When the client began to take the response. */
  #takingSince: number | undefined;

  constructor(response: ServerResponse, socket: Socket, timeoutMs: number) {
    this.#response = response;
    this.#socket = socket;
    this.#timeoutMs = timeoutMs;
    this.startPeriod();
  }

  /** Begins the time in which the client has to take something. */
  startPeriod(): void {
    this.#bytesWritten = this.#socket.bytesWritten;
  }

  /**
   * Whether the client took nothing since `startPeriod` while there is something to take, or takes the whole response
   * too slowly. Call it after each `timeoutMs`.
   */
  isTooSlow(responseBytes: number): boolean {
    if (!this.#isTaking()) return false;
    this.#takingSince ??= performance.now();
    const maxMs = this.#timeoutMs * (MAX_RESPONSE_PERIODS + responseBytes / BYTES_OF_PERIOD);
    const isStalled = this.#socket.bytesWritten === this.#bytesWritten;
    return isStalled || performance.now() - this.#takingSince >= maxMs;
  }

  /** Behind an earlier response of the connection there is no socket yet, and the client takes that one. */
  #isTaking(): boolean {
    return this.#response.socket !== null && this.#response.writableLength > 0;
  }
}

/**
 * Returns a signal that aborts once the client has left: what is done for it from then on is in vain. A client that
 * closes its sending half counts as well, as nothing else is seen of one that has closed its socket until it is sent
 * something.
 *
 * @param reason makes the error that the signal throws
 */
export function connectionSignal(socket: Socket, response: ServerResponse, reason: () => Error): AbortSignal {
  const disconnect = new AbortController();
  const abort = () => disconnect.abort(reason());
  if (response.destroyed || socket.readableEnded) abort();
  // A response that is closed emits no `close` to remove the listener on the connection, which may carry more requests.
  if (response.closed) return disconnect.signal;
  socket.once('end', abort);
  response.once('close', () => {
    socket.off('end', abort);
    abort();
  });
  return disconnect.signal;
}
