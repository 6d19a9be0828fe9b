import { ServiceError } from '../errors.ts';

/** 0 means no limit. A unit is a request or a byte, depending on the limiter. */
export interface ConcurrencyLimits {
  /** Units in flight across all tenants. */
  total: number;
  /** Units in flight of one tenant. */
  perTenant: number;
  /** How many requests may wait at once. */
  maxWaiting: number;
  maxWaitMs: number;
}

interface Waiter {
  slot: Slot;
  units: number;
  resolve(): void;
  reject(error: ServiceError): void;
  timer: NodeJS.Timeout;
}

/**
 * Bounds what is in flight. When the limit is reached, requests wait: first in, first out within a tenant, and tenants take turns, so
 * a tenant with a long queue does not delay the others. A request that waits too long is rejected.
 *
 * A slot that holds everything in flight may always take more, so that no request is too large to ever be served.
 */
export class ConcurrencyLimiter {
  readonly #limits: ConcurrencyLimits;
  #inFlight = 0;
  #slotsInFlight = 0;
  readonly #inFlightByTenant = new Map<string, number>();
  #waiting = 0;
  /** Tenants in the order of their turns. */
  readonly #queues = new Map<string, Waiter[]>();

  constructor(limits: ConcurrencyLimits) {
    this.#limits = limits;
  }

  /** Units in flight, the slots that hold them, and the slots that wait. */
  get current(): { inFlight: number; slots: number; waiting: number } {
    return { inFlight: this.#inFlight, slots: this.#slotsInFlight, waiting: this.#waiting };
  }

  /** Returns an empty slot. Release it when its request has ended. */
  slot(tenant: string): Slot {
    return new Slot(this, tenant);
  }

  /** Runs work in a slot of one unit. @throws ServiceError 429 or 503 when no slot became free in time. */
  async run<T>(tenant: string, work: () => Promise<T>): Promise<T> {
    const slot = this.slot(tenant);
    try {
      await slot.acquire(1);
      return await work();
    } finally {
      slot.release();
    }
  }

  /**
   * Called by the slot.
   *
   * @returns undefined when there is room, else a promise that resolves once there is.
   * @throws ServiceError (also by the promise) 429 when the tenant is at its limit, 503 when the service is.
   */
  acquire(slot: Slot, units: number): Promise<void> | undefined {
    if (this.#waiting === 0 && this.#hasRoom(slot, units)) {
      this.add(slot, units);
      return undefined;
    }
    this.#makeWaitingRoom(slot, units);
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        slot,
        units,
        resolve,
        reject,
        timer: setTimeout(() => this.#refuse(waiter), this.#limits.maxWaitMs),
      };
      slot.waiter = waiter;
      const queue = this.#queues.get(slot.tenant);
      if (queue) queue.push(waiter);
      else this.#queues.set(slot.tenant, [waiter]);
      this.#waiting++;
      this.#admit();
    });
  }

  /** Called by the slot: counts units without waiting for room. */
  add(slot: Slot, units: number): void {
    if (slot.units === 0 && units > 0) this.#slotsInFlight++;
    slot.units += units;
    this.#inFlight += units;
    this.#inFlightByTenant.set(slot.tenant, this.#tenantInFlight(slot.tenant) + units);
  }

  /** Called by the slot: gives back all it holds, and leaves the queue. */
  release(slot: Slot): void {
    const { tenant, units, waiter } = slot;
    if (waiter) {
      this.#remove(waiter);
      waiter.reject(new ServiceError('client_gone'));
    }
    if (units > 0) this.#slotsInFlight--;
    slot.units = 0;
    this.#inFlight -= units;
    const left = this.#tenantInFlight(tenant) - units;
    if (left === 0) this.#inFlightByTenant.delete(tenant);
    else this.#inFlightByTenant.set(tenant, left);
    this.#admit();
  }

  /** Admits waiting requests that now fit, one per tenant in turn. */
  #admit(): void {
    // A tenant that was served moves to the end of the map, where this loop reaches it again.
    for (const [tenant, [waiter]] of this.#queues) {
      if (waiter === undefined || !this.#tenantHasRoom(waiter.slot, waiter.units)) continue;
      // A large request must not starve behind small ones, so nothing overtakes it.
      if (!this.#serviceHasRoom(waiter.slot, waiter.units)) return;
      this.#remove(waiter);
      const queue = this.#queues.get(tenant);
      if (queue) {
        this.#queues.delete(tenant);
        this.#queues.set(tenant, queue);
      }
      this.add(waiter.slot, waiter.units);
      waiter.resolve();
    }
  }

  /** When the queue is full, rejects the newest request of the longest queue, which may be the one that asks. */
  #makeWaitingRoom(slot: Slot, units: number): void {
    if (this.#waiting < this.#limits.maxWaiting) return;
    let longest: Waiter[] = [];
    for (const queue of this.#queues.values()) if (queue.length > longest.length) longest = queue;
    const newest = longest.at(-1);
    const own = this.#queues.get(slot.tenant)?.length ?? 0;
    if (newest === undefined || longest.length <= own + 1) throw this.#refusal(slot, units);
    this.#refuse(newest);
  }

  #refuse(waiter: Waiter): void {
    const refusal = this.#refusal(waiter.slot, waiter.units);
    this.#remove(waiter);
    waiter.reject(refusal);
    this.#admit();
  }

  #refusal(slot: Slot, units: number): ServiceError {
    return new ServiceError(this.#tenantHasRoom(slot, units) ? 'overloaded' : 'too_many_at_once');
  }

  #remove(waiter: Waiter): void {
    clearTimeout(waiter.timer);
    waiter.slot.waiter = undefined;
    this.#waiting--;
    const { tenant } = waiter.slot;
    const queue = this.#queues.get(tenant) ?? [];
    queue.splice(queue.indexOf(waiter), 1);
    if (queue.length === 0) this.#queues.delete(tenant);
  }

  #hasRoom(slot: Slot, units: number): boolean {
    return this.#tenantHasRoom(slot, units) && this.#serviceHasRoom(slot, units);
  }

  #tenantHasRoom({ tenant, units: held }: Slot, units: number): boolean {
    return hasRoom(this.#limits.perTenant, this.#tenantInFlight(tenant), held, units);
  }

  #serviceHasRoom({ units: held }: Slot, units: number): boolean {
    return hasRoom(this.#limits.total, this.#inFlight, held, units);
  }

  #tenantInFlight(tenant: string): number {
    return this.#inFlightByTenant.get(tenant) ?? 0;
  }
}

const MAX_LOOKUPS = 16;
const MAX_WAITING_LOOKUPS = 1000;

/** Limits concurrent lookups of what is not cached, shared by address in turns. */
export function createLookupLimiter(maxWaitMs: number): ConcurrencyLimiter {
  return new ConcurrencyLimiter({
    total: MAX_LOOKUPS,
    perTenant: 0,
    maxWaiting: MAX_WAITING_LOOKUPS,
    maxWaitMs,
  });
}

function hasRoom(limit: number, inFlight: number, held: number, units: number): boolean {
  return limit === 0 || inFlight === held || inFlight + units <= limit;
}

/** The units that one request holds until it is released. */
export class Slot {
  readonly tenant: string;
  /** For the limiter only. */
  units = 0;
  /** For the limiter only. */
  waiter: Waiter | undefined;
  readonly #limiter: ConcurrencyLimiter;
  #isReleased = false;

  constructor(limiter: ConcurrencyLimiter, tenant: string) {
    this.#limiter = limiter;
    this.tenant = tenant;
  }

  /**
   * Takes units, waiting for room if necessary. One call at a time.
   *
   * @returns undefined when there was room at once.
   * @throws ServiceError (also by the promise) 429 or 503 when there was none in time, 499 when the slot is released.
   */
  acquire(units: number): Promise<void> | undefined {
    if (this.#isReleased) throw new ServiceError('client_gone');
    return this.#limiter.acquire(this, units);
  }

  /** Counts units that are already in use, even beyond the limits. */
  add(units: number): void {
    if (!this.#isReleased) this.#limiter.add(this, units);
  }

  /** Gives back all units. The slot cannot be used again. */
  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.#limiter.release(this);
  }
}
