import type { FastifyInstance, onRequestHookHandler } from 'fastify';
import { ServiceError } from '../errors.ts';

/** How much may be in work and waiting at once; 0 means no limit. */
export interface LoadLimits {
  maxRequests: number;
  maxRequestsPerTenant: number;
  /** Of bodies, by what their Content-Length says. */
  maxBytes: number;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The place that the request takes up; undefined for routes without a limit. */
    place: Place | undefined;
  }
}

/**
 * Sheds load: what cannot be handled soon is refused at once, so that what is accepted stays fast and memory bounded.
 *
 * A place is taken before anything is read, and given back when the work for it is done, even if the client is long gone.
 */
export class Load {
  readonly #limits: LoadLimits;
  #requests = 0;
  #bytes = 0;
  readonly #tenants = new Map<string, number>();

  constructor(limits: LoadLimits) {
    this.#limits = limits;
  }

  /** Requests in work and waiting, and the bytes of their bodies. */
  get current(): { requests: number; bytes: number } {
    return { requests: this.#requests, bytes: this.#bytes };
  }

  /** Whether as many requests are in work as may be. */
  get isFull(): boolean {
    const { maxRequests } = this.#limits;
    return maxRequests > 0 && this.#requests >= maxRequests;
  }

  /** @throws ServiceError 503 when there is no place. */
  enter(bytes: number): Place {
    if (this.isFull) throw overloaded();
    const { maxBytes } = this.#limits;
    // One request is always let in, whatever its size: the body limit judges it.
    if (maxBytes > 0 && this.#requests > 0 && this.#bytes + bytes > maxBytes) throw overloaded();
    this.#requests++;
    this.#bytes += bytes;
    return new Place((tenant) => {
      this.#requests--;
      this.#bytes -= bytes;
      if (tenant !== undefined) this.#leave(tenant);
    });
  }

  /** @throws ServiceError 429 when the tenant has as many requests in work as it may. */
  enterTenant(place: Place, tenant: string): void {
    const count = this.#tenants.get(tenant) ?? 0;
    const { maxRequestsPerTenant: max } = this.#limits;
    if (max > 0 && count >= max) {
      throw new ServiceError(
        429,
        'too_many_at_once',
        `The tenant has ${max} requests in work, which is as many as it may. Wait for their answers.`,
        { retryAfter: 1 },
      );
    }
    this.#tenants.set(tenant, count + 1);
    place.tenant = tenant;
  }

  #leave(tenant: string): void {
    const count = (this.#tenants.get(tenant) ?? 1) - 1;
    if (count === 0) this.#tenants.delete(tenant);
    else this.#tenants.set(tenant, count);
  }
}

/** What one request takes up, until it is released. */
export class Place {
  tenant: string | undefined;
  /** While the handler works, the end of the connection does not end the work. */
  working = false;
  readonly #onRelease: (tenant: string | undefined) => void;
  #released = false;

  constructor(onRelease: (tenant: string | undefined) => void) {
    this.#onRelease = onRelease;
  }

  release(): void {
    if (this.#released) return;
    this.#released = true;
    this.#onRelease(this.tenant);
  }
}

/** The hook that takes a place for a request, to run before all others of its route. */
export function loadHook(app: FastifyInstance, load: Load): onRequestHookHandler {
  app.decorateRequest('place', undefined);
  return (request, reply, done) => {
    const declared = Number(request.headers['content-length']);
    // A body that does not say its length may be as long as any.
    const place = load.enter(Number.isFinite(declared) ? declared : request.routeOptions.bodyLimit);
    request.place = place;
    // For a request that never comes to its handler.
    reply.raw.once('close', () => {
      if (!place.working) place.release();
    });
    done();
  };
}

export function overloaded(): ServiceError {
  return new ServiceError(
    503,
    'overloaded',
    'The service has as many requests in work as it can take. Try again shortly.',
    {
      retryAfter: 1,
    },
  );
}
