/*
 * Detects clients that disconnect or read a response too slowly. This module does not use Fastify, because
 * `memory-service-mcp` also imports it.
 */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';

/**
 * Minimum number of body or response bytes that a client must transfer in each transfer timeout, unless fewer bytes are
 * left.
 */
export const MIN_TRANSFER_BYTES = 64 * 1024;
/** Maximum number of transfer timeouts in which a client must read a response. */
const MAX_RESPONSE_PERIODS = 12;
/** The maximum grows by one transfer timeout for each part of the response with this size. */
const BYTES_OF_PERIOD = 1024 * 1024;

/**
 * A stream that sends a buffer in parts. With a single buffer, Node does not report how many bytes a client has read.
 */
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

/** Measures how fast a client reads a response. */
export class ResponsePace {
  readonly #response: ServerResponse;
  readonly #socket: Socket;
  readonly #timeoutMs: number;
  #bytesWritten = 0;
  /** The time at which the client began to read the response. */
  #takingSince: number | undefined;

  constructor(response: ServerResponse, socket: Socket, timeoutMs: number) {
    this.#response = response;
    this.#socket = socket;
    this.#timeoutMs = timeoutMs;
    this.startPeriod();
  }

  /** Starts the period in which the client must read at least one byte. */
  startPeriod(): void {
    this.#bytesWritten = this.#socket.bytesWritten;
  }

  /**
   * Whether the client has read no bytes since `startPeriod` although some are waiting, or reads the whole response too
   * slowly. Call this method after each `timeoutMs`.
   */
  isTooSlow(responseBytes: number): boolean {
    if (!this.#isTaking()) return false;
    this.#takingSince ??= performance.now();
    const maxMs = this.#timeoutMs * (MAX_RESPONSE_PERIODS + responseBytes / BYTES_OF_PERIOD);
    const isStalled = this.#socket.bytesWritten === this.#bytesWritten;
    return isStalled || performance.now() - this.#takingSince >= maxMs;
  }

  /**
   * Whether bytes in this response are waiting for the client. A response has no socket while the client reads an
   * earlier response on the same connection.
   */
  #isTaking(): boolean {
    return this.#response.socket !== null && this.#response.writableLength > 0;
  }
}

/**
 * Returns a signal that aborts when the client disconnects, because further work for the client is useless. A
 * half-closed connection counts as a disconnect. The service cannot distinguish it from a closed socket until it sends
 * data.
 *
 * @param reason creates the error that the signal throws
 */
export function connectionSignal(socket: Socket, response: ServerResponse, reason: () => Error): AbortSignal {
  const disconnect = new AbortController();
  const abort = () => disconnect.abort(reason());
  if (response.destroyed || socket.readableEnded) abort();
  // A closed response emits no `close` event, so the listener would remain on a connection that may carry more
  // requests.
  if (response.closed) return disconnect.signal;
  const aborts = abortsAtEnd(socket).add(abort);
  response.once('close', () => {
    aborts.delete(abort);
    abort();
  });
  return disconnect.signal;
}

const endings = new WeakMap<Socket, Set<() => void>>();

/** Returns the functions to call at a connection's end. They share a listener, because requests may be pipelined. */
function abortsAtEnd(socket: Socket): Set<() => void> {
  const aborts = endings.get(socket) ?? new Set();
  if (!endings.has(socket)) {
    endings.set(socket, aborts);
    socket.once('end', () => {
      for (const abort of aborts) abort();
    });
  }
  return aborts;
}
