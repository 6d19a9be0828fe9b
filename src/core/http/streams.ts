import type { FastifyReply, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import type { Config } from '../config.ts';
import { ServiceError } from '../errors/errors.ts';
import { ConcurrencyLimiter } from '../lib/concurrency-limiter.ts';
import { timeSliced } from '../lib/time-slice.ts';
import type { Validity } from '../tenants/principal.ts';
import { disconnectSignal } from './access-log.ts';
import { problemFor } from './problem-details.ts';

/** Interval at which the streams are searched for callers to verify. */
const SEARCH_EVERY_MS = 250;
/** Delay before a failed verification is repeated. */
const RETRY_MS = 1000;

const PROBLEMS = {
  key_at_limit: 'too_many_streams',
  at_limit: 'streams_full',
  released: 'client_gone',
} as const;

/** The callers of a listener's streams. */
export interface StreamCallers {
  /** Returns the tenant or admin key whose share of the streams a request uses. */
  countedAs(request: FastifyRequest): string;
  /** Releases the capacity that a request would otherwise hold until its response ends. */
  releaseCapacity?(request: FastifyRequest): void;
  /**
   * Identifies a stream's caller like a new request's caller, with cached keys and policies.
   *
   * @throws ServiceError if a new request would be rejected or would have another access
   */
  verify(request: FastifyRequest): Promise<Validity>;
}

type StreamConfig = Pick<Config, 'AUTH_CACHE_SECONDS' | 'MAX_STREAMS' | 'MAX_STREAMS_PER_TENANT'>;

declare module 'fastify' {
  interface FastifyInstance {
    streams: Streams;
  }
}

/** Limits the streams on the routes registered after this plugin, and ends them in time. */
export const streams = fp<{ config: StreamConfig; callers: StreamCallers }>(
  async (app, { config, callers }) => {
    const all = new Streams(config, callers);
    app.decorate('streams', all);
    // Fastify closes the server only after its responses have ended.
    app.addHook('preClose', async () => all.end());
    app.addHook('onClose', () => all.close());
  },
  { name: 'streams', dependencies: ['access-log'] },
);

interface Watched {
  readonly request: FastifyRequest;
  readonly ending: AbortController;
  /** Whether the response would last until the service stops, and so delay its shutdown. */
  readonly endsOnStop: boolean;
  /** Time at which the caller is verified again. */
  verifyAt: number;
  /** Time at which the credential expires. */
  expiresAt: number;
}

let openCount = 0;

/** Returns the number of open streams on all listeners. */
export const openStreams = () => openCount;

/** The streams on a listener: responses that last until the client, the service, or the credential ends them. */
export class Streams {
  readonly #limiter: ConcurrencyLimiter;
  readonly #callers: StreamCallers;
  readonly #cacheMs: number;
  readonly #watched = new Set<Watched>();
  readonly #work = new Set<Promise<unknown>>();
  // A timer that a request starts would continue the request's trace.
  readonly #timer = setInterval(() => this.#verifyDue(), SEARCH_EVERY_MS).unref();
  #isEnding = false;

  constructor(config: StreamConfig, callers: StreamCallers) {
    this.#limiter = new ConcurrencyLimiter(
      { total: config.MAX_STREAMS, perKey: config.MAX_STREAMS_PER_TENANT, maxWaiting: 0, maxWaitMs: 0 },
      (rejection) => new ServiceError(PROBLEMS[rejection]),
    );
    this.#callers = callers;
    this.#cacheMs = config.AUTH_CACHE_SECONDS * 1000;
  }

  /**
   * Counts a request's response as a stream until the connection closes. The stream holds no slot.
   *
   * The returned signal aborts when the caller must end the response. Its reason is a ServiceError:
   * - 499 when the client disconnects
   * - 503 `shutting_down` when the service stops
   * - 401 or 403 at most `AUTH_CACHE_SECONDS` after a new request with the credential would be rejected, and when the
   *   credential expires
   * - 409 `access_changed` at most `AUTH_CACHE_SECONDS` after the caller's access or memory changed
   *
   * While the database does not respond, the stream stays open until the credential expires, although new requests get
   * 503.
   *
   * @throws ServiceError 429 or 503 if too many streams are open, or 503 if the service stops
   */
  open(request: FastifyRequest, reply: FastifyReply): AbortSignal {
    if (reply.raw.destroyed) throw new ServiceError('client_gone');
    if (this.#isEnding) throw new ServiceError('shutting_down');
    const slot = this.#limiter.slot(this.#callers.countedAs(request));
    request.onClose.push(() => {
      openCount -= slot.units;
      slot.release();
    });
    void slot.acquire(1);
    openCount++;
    this.#callers.releaseCapacity?.(request);
    return this.#watch(request, reply, true);
  }

  /**
   * Watches a long response of a limited size, such as an archive. The returned signal aborts like a stream's signal,
   * but not when the service stops, because the client can still receive the rest.
   */
  watch(request: FastifyRequest, reply: FastifyReply): AbortSignal {
    return this.#watch(request, reply, false);
  }

  #watch(request: FastifyRequest, reply: FastifyReply, endsOnStop: boolean): AbortSignal {
    const ending = new AbortController();
    const watched = { request, ending, endsOnStop, verifyAt: 0, expiresAt: Number.POSITIVE_INFINITY };
    this.#watched.add(watched);
    const disconnected = disconnectSignal(request, reply);
    const leave = () => this.#end(watched, disconnected.reason);
    if (disconnected.aborted) leave();
    else disconnected.addEventListener('abort', leave);
    return ending.signal;
  }

  /** Delays the end of the app until a stream's work has ended. */
  track(work: Promise<unknown>): void {
    this.#work.add(work);
    const forget = () => this.#work.delete(work);
    work.then(forget, forget);
  }

  /** Ends all streams, and rejects new streams. */
  end(): void {
    this.#isEnding = true;
    for (const watched of this.#watched)
      if (watched.endsOnStop) this.#end(watched, new ServiceError('shutting_down'));
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.allSettled(this.#work);
  }

  #end(watched: Watched, reason: ServiceError): void {
    this.#watched.delete(watched);
    watched.ending.abort(reason);
  }

  async #verifyDue(): Promise<void> {
    for await (const watched of timeSliced([...this.#watched]))
      if (watched.verifyAt <= performance.now()) void this.#verify(watched);
  }

  async #verify(watched: Watched): Promise<void> {
    const now = performance.now();
    // Prevents a second verification while this one runs.
    watched.verifyAt = Number.POSITIVE_INFINITY;
    try {
      const { readAt = now, expiresAt = Number.POSITIVE_INFINITY } = await this.#callers.verify(
        watched.request,
      );
      watched.expiresAt = expiresAt;
      watched.verifyAt = Math.min(readAt + this.#cacheMs, expiresAt);
    } catch (error) {
      const problem = problemFor(error);
      if (isFinal(problem)) this.#end(watched, problem);
      else if (watched.expiresAt <= now) this.#end(watched, new ServiceError('unauthorized'));
      else watched.verifyAt = Math.min(now + RETRY_MS, watched.expiresAt);
    }
  }
}

/** Whether an error says that the caller may no longer read, rather than that the service cannot look it up now. */
function isFinal({ status }: ServiceError): boolean {
  return status < 500 && status !== 429;
}
