import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { finished } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { ServiceError } from '../errors/errors.ts';
import { type Deadline, Deadlines } from '../lib/deadlines.ts';
import { MIN_TRANSFER_BYTES, PartsOfBuffer, ResponsePace } from './client-connection.ts';

/** How long what a client with its response still sends is read. */
const MAX_DISCARD_MS = 30_000;

declare module 'fastify' {
  interface FastifyRequest {
    /** Undefined when the URL cannot be decoded. */
    transfer: Transfer | undefined;
  }
}

/**
 * Ends the requests of clients that send or take less than `MIN_TRANSFER_BYTES` in `timeoutMs` while there is more,
 * or that take a whole response too slowly, and reads what a client that has its response, a refusal for example,
 * still sends. Time in which the service is at work does not count.
 */
export const slowClients = fp<{ timeoutMs: number }>(
  async (app, { timeoutMs }) => {
    const deadlines = new Deadlines();
    app.decorateRequest('transfer');
    app.addHook('onRequest', (request, reply, done) => {
      request.transfer = new Transfer(request.raw, reply, { deadlines, timeoutMs });
      done();
    });
    app.addHook('onSend', (request, reply, payload, done) => {
      request.transfer?.keepOpenForBody();
      done(null, inParts(request, reply, payload));
    });
  },
  { name: 'slow-clients' },
);

/** Makes a long response a stream of parts. */
function inParts({ method }: FastifyRequest, reply: FastifyReply, payload: unknown): unknown {
  if (method === 'HEAD') return payload;
  const content = typeof payload === 'string' ? longText(payload) : payload;
  if (!Buffer.isBuffer(content) || content.length <= MIN_TRANSFER_BYTES) return payload;
  reply.header('Content-Length', content.length);
  return new PartsOfBuffer(content);
}

/** Returns the bytes of a response that are in memory; 0 for one that is read from elsewhere while it is sent. */
export function bytesInMemory(payload: unknown): number {
  if (typeof payload === 'string') return Buffer.byteLength(payload);
  if (Buffer.isBuffer(payload)) return payload.length;
  return payload instanceof PartsOfBuffer ? payload.bytes : 0;
}

/** Returns the bytes of a text that may be longer than one part. */
function longText(text: string): Buffer | undefined {
  return text.length * MAX_UTF8_BYTES_OF_UNIT > MIN_TRANSFER_BYTES ? Buffer.from(text) : undefined;
}

const MAX_UTF8_BYTES_OF_UNIT = 3;

/** What a client sends and takes for one request. */
class Transfer {
  readonly #body: IncomingMessage;
  /** The body loses it when it is destroyed. */
  readonly #socket: Socket;
  readonly #reply: FastifyReply;
  readonly #deadlines: Deadlines;
  readonly #timeoutMs: number;
  #deadline: Deadline;
  readonly #pace: ResponsePace;
  #bytesRead = 0;
  #isPaused = false;
  #isTooSlow = false;
  #isOver = false;

  constructor(
    body: IncomingMessage,
    reply: FastifyReply,
    { deadlines, timeoutMs }: { deadlines: Deadlines; timeoutMs: number },
  ) {
    this.#body = body;
    this.#socket = body.socket;
    this.#reply = reply;
    this.#deadlines = deadlines;
    this.#timeoutMs = timeoutMs;
    this.#pace = new ResponsePace(reply.raw, this.#socket, timeoutMs);
    this.#deadline = this.#startPeriod();
    reply.raw.once('close', () => {
      this.#isOver = true;
      deadlines.clear(this.#deadline);
      if (isIncomplete(body) && !this.#socket.destroyed) this.#discardRest();
      else closeIfDue(this.#socket, body);
    });
  }

  /** Reads no more of the body until `resume`. The client's time stops. */
  pause(): void {
    this.#isPaused = true;
    this.#body.pause();
  }

  resume(): void {
    // A deadline that starts now would never be cleared.
    if (this.#isOver) return;
    this.#isPaused = false;
    this.#deadlines.clear(this.#deadline);
    this.#deadline = this.#startPeriod();
    this.#body.resume();
  }

  /**
   * Node closes a connection right after its last response. A client that still sends its body would be reset, and
   * might never read that response.
   */
  keepOpenForBody(): void {
    const body = this.#body;
    if (!isIncomplete(body) || this.#isTooSlow) return;
    delayClose(this.#socket, body);
  }

  #startPeriod(): Deadline {
    this.#bytesRead = this.#socket.bytesRead;
    this.#pace.startPeriod();
    return this.#deadlines.start(this.#timeoutMs, () => this.#check());
  }

  #check(): void {
    const { bytesRead } = this.#socket;
    if (this.#pace.isTooSlow(this.#responseBytes())) return void this.#reply.raw.destroy();
    if (this.#isSending() && bytesRead - this.#bytesRead < MIN_TRANSFER_BYTES) this.#refuseBody();
    this.#deadline = this.#startPeriod();
  }

  /**
   * Whoever reads a body listens for its errors. Until then, and while the reader is behind, the service is at work.
   */
  #isSending(): boolean {
    const body = this.#body;
    const isRead = body.listenerCount('error') > 0 && !this.#isPaused && body.readableLength === 0;
    return isRead && isIncomplete(body) && !this.#isTooSlow;
  }

  /** A response without a length reports the progress of work, which may take any time. */
  #responseBytes(): number {
    return Number(this.#reply.getHeader('content-length') ?? Number.POSITIVE_INFINITY);
  }

  /** Ends the reading of a body with an error, which whoever reads it reports, and then the connection. */
  #refuseBody(): void {
    const reply = this.#reply;
    this.#isTooSlow = true;
    // What is left of the body must not be taken for the next request.
    if (!reply.raw.headersSent) reply.header('Connection', 'close');
    reply.raw.once('finish', () => this.#socket.destroySoon());
    this.#body.emit('error', new ServiceError('body_timeout'));
  }

  /** Lets the connection take the next request, or close without a reset. */
  #discardRest(): void {
    const body = this.#body;
    const socket = this.#socket;
    const end = performance.now() + MAX_DISCARD_MS;
    const checkLater = () => {
      const { bytesRead } = socket;
      this.#deadline = this.#deadlines.start(this.#timeoutMs, () => {
        const isTooSlow = socket.bytesRead - bytesRead < MIN_TRANSFER_BYTES;
        if (isTooSlow || performance.now() >= end) socket.destroy();
        else checkLater();
      });
    };
    checkLater();
    // Also when the connection is closed.
    finished(body, () => {
      this.#deadlines.clear(this.#deadline);
      closeIfDue(socket, body);
    });
    // A reader that has given up may still listen, and with such a listener nothing flows.
    body.removeAllListeners('readable').on('data', () => {});
    body.resume();
  }
}

interface DelayedClose {
  /** Undefined: the connection is closed without delay. */
  body: IncomingMessage | undefined;
  /** Whether the connection is closed when the body ends. */
  isDue: boolean;
}

/** One for each connection, however many requests the connection carries. */
const delayedCloses = new WeakMap<Socket, DelayedClose>();

/** Delays the close of a connection until `body` ends. A connection receives one body at a time. */
function delayClose(socket: Socket, body: IncomingMessage): void {
  const delayed = delayedCloses.get(socket);
  if (delayed) {
    delayed.body = body;
    return;
  }
  const close: DelayedClose = { body, isDue: false };
  delayedCloses.set(socket, close);
  const destroySoon = socket.destroySoon.bind(socket);
  socket.destroySoon = () => {
    if (close.body !== undefined && isIncomplete(close.body)) close.isDue = true;
    else destroySoon();
  };
}

/** Ends the delay for a body that has ended. */
function closeIfDue(socket: Socket, body: IncomingMessage): void {
  const close = delayedCloses.get(socket);
  if (close?.body !== body) return;
  close.body = undefined;
  if (close.isDue) socket.destroySoon();
}

/** Requests of `inject` have no such state. */
function isIncomplete({ complete }: IncomingMessage): boolean {
  return complete === false;
}
