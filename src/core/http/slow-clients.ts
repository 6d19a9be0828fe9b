import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { finished } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { ServiceError } from '../errors/errors.ts';
import { type Deadline, Deadlines } from '../lib/deadlines.ts';
import { MIN_TRANSFER_BYTES, PartsOfBuffer, ResponsePace } from './client-connection.ts';

/** Maximum time to read and discard the rest of a request body after the response has been sent. */
const MAX_DISCARD_MS = 30_000;

declare module 'fastify' {
  interface FastifyRequest {
    /** The request's transfer. Undefined if the URL cannot be decoded. */
    transfer: Transfer | undefined;
  }
}

/**
 * Ends requests from slow clients, and discards the rest of a request body after the response has been sent, such as
 * after a rejection. A client is slow if it transfers fewer than `MIN_TRANSFER_BYTES` in `timeoutMs` while more bytes
 * are left, or if it reads the whole response too slowly. Time in which the service works does not count.
 */
export const slowClients = fp<{ timeoutMs: number }>(
  async (app, { timeoutMs }) => {
    const deadlines = new Deadlines();
    app.decorateRequest('transfer');
    app.addHook('onRequest', (request, reply, done) => {
      request.transfer = new Transfer(request, reply, { deadlines, timeoutMs });
      done();
    });
    app.addHook('onSend', (request, reply, payload, done) => {
      request.transfer?.keepOpenForBody();
      done(null, splitPayload(request, reply, payload));
    });
  },
  { name: 'slow-clients', dependencies: ['access-log'] },
);

/** Converts a long response to a stream of parts, so that progress can be measured. */
function splitPayload({ method }: FastifyRequest, reply: FastifyReply, payload: unknown): unknown {
  if (method === 'HEAD') return payload;
  const content = typeof payload === 'string' ? encodeLongText(payload) : payload;
  if (!Buffer.isBuffer(content) || content.length <= MIN_TRANSFER_BYTES) return payload;
  reply.header('Content-Length', content.length);
  return new PartsOfBuffer(content);
}

/**
 * Returns the number of response bytes that are in memory. The result is 0 for a response that is read from a stream.
 */
export function bytesInMemory(payload: unknown): number {
  if (typeof payload === 'string') return Buffer.byteLength(payload);
  if (Buffer.isBuffer(payload)) return payload.length;
  return payload instanceof PartsOfBuffer ? payload.bytes : 0;
}

/** Returns the bytes in a text that may be longer than one part, or undefined for a shorter text. */
function encodeLongText(text: string): Buffer | undefined {
  return text.length * MAX_UTF8_BYTES_OF_UNIT > MIN_TRANSFER_BYTES ? Buffer.from(text) : undefined;
}

const MAX_UTF8_BYTES_OF_UNIT = 3;

class Transfer {
  readonly #body: IncomingMessage;
  /** The socket is stored because a destroyed body no longer refers to it. */
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
    { raw: body, onClose }: FastifyRequest,
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
    onClose.push(() => {
      this.#isOver = true;
      deadlines.clear(this.#deadline);
      if (isIncomplete(body) && !this.#socket.destroyed) this.#discardRest();
      else closeIfDue(this.#socket, body);
    });
  }

  /** Stops reading the body until `resume`. The paused time does not count for the client's timeout. */
  pause(): void {
    this.#isPaused = true;
    this.#body.pause();
  }

  resume(): void {
    // A deadline that starts after the end would never be cleared.
    if (this.#isOver) return;
    this.#isPaused = false;
    this.#deadlines.clear(this.#deadline);
    this.#deadline = this.#startPeriod();
    this.#body.resume();
  }

  /**
   * Keeps the connection open while the client sends its body. By default, Node closes a connection right after its
   * last response, and the reset could make the client lose the response.
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
    if (this.#isSending() && bytesRead - this.#bytesRead < MIN_TRANSFER_BYTES) this.#rejectBody();
    this.#deadline = this.#startPeriod();
  }

  /**
   * Whether the service is waiting for the client to send the body. A body has no listener for errors until a reader is
   * attached. Until then, or while the reader is behind, the client's time does not count.
   */
  #isSending(): boolean {
    const body = this.#body;
    const isRead = body.listenerCount('error') > 0 && !this.#isPaused && body.readableLength === 0;
    return isRead && isIncomplete(body) && !this.#isTooSlow;
  }

  /**
   * Returns the response length, or infinity without `Content-Length`. A response without a length reports the progress
   * of work, which has no time limit.
   */
  #responseBytes(): number {
    return Number(this.#reply.getHeader('content-length') ?? Number.POSITIVE_INFINITY);
  }

  /** Fails the body with an error, which its reader reports, and then closes the connection. */
  #rejectBody(): void {
    const reply = this.#reply;
    this.#isTooSlow = true;
    // The connection must close, because the rest of the body would be parsed as the next request.
    if (!reply.raw.headersSent) reply.header('Connection', 'close');
    reply.raw.once('finish', () => this.#socket.destroySoon());
    this.#body.emit('error', new ServiceError('body_timeout'));
  }

  /** Discards the rest of the body, so that the connection can receive the next request or close without a reset. */
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
    // `finished` also calls back when the connection is closed.
    finished(body, () => {
      this.#deadlines.clear(this.#deadline);
      closeIfDue(socket, body);
    });
    // A listener for `readable` that a failed reader left behind would stop the data flow.
    body.removeAllListeners('readable').on('data', () => {});
    body.resume();
  }
}

interface DelayedClose {
  /** The body that delays the close. Undefined if the connection can close immediately. */
  body: IncomingMessage | undefined;
  /** Whether the connection must close when the body ends. */
  isDue: boolean;
}

/** Each connection's delayed close. A connection may carry many requests. */
const delayedCloses = new WeakMap<Socket, DelayedClose>();

/** Delays a connection's close until `body` ends. Each connection receives one body at a time. */
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

/** Ends the delay for a body, and closes the connection if the close is due. */
function closeIfDue(socket: Socket, body: IncomingMessage): void {
  const close = delayedCloses.get(socket);
  if (close?.body !== body) return;
  close.body = undefined;
  if (close.isDue) socket.destroySoon();
}

/** Whether part of the body is missing. Requests from Fastify's `inject` lack the property `complete`. */
function isIncomplete({ complete }: IncomingMessage): boolean {
  return complete === false;
}
