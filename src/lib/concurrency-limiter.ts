/** 0 means no limit. A unit is whatever is counted: a request, a byte. */
export interface ConcurrencyLimits {
  /** Units in flight of all keys. */
  total: number;
  /** Units in flight of one key. */
  perKey: number;
  /** How many slots may wait at once. */
  maxWaiting: number;
  maxWaitMs: number;
}

/** Why a slot gets no units: its key is at its limit, all together are, or it was released while it waited. */
export type Refusal = 'key_at_limit' | 'at_limit' | 'released';

interface Waiter {
  slot: Slot;
  units: number;
  resolve(): void;
  reject(error: Error): void;
  timer: NodeJS.Timeout;
}

/**
 * Bounds what is in flight. When the limit is reached, slots wait: first in, first out within a key, and keys take
 * turns, so a key with a long queue does not delay the others. A slot that waits too long is refused.
 *
 * A slot that holds everything in flight may always take more, so that nothing is too large to ever be served.
 */
export class ConcurrencyLimiter {
  readonly #limits: ConcurrencyLimits;
  readonly #errorFor: (refusal: Refusal) => Error;
  #inFlight = 0;
  #slotsInFlight = 0;
  readonly #inFlightByKey = new Map<string, number>();
  #waiting = 0;
  /** Keys in the order of their turns. */
  readonly #queues = new Map<string, Waiter[]>();

  /** @param errorFor makes what is thrown */
  constructor(limits: ConcurrencyLimits, errorFor: (refusal: Refusal) => Error) {
    this.#limits = limits;
    this.#errorFor = errorFor;
  }

  /** Units in flight, the slots that hold them, and the slots that wait. */
  get current(): { inFlight: number; slots: number; waiting: number } {
    return { inFlight: this.#inFlight, slots: this.#slotsInFlight, waiting: this.#waiting };
  }

  /** Returns an empty slot. Release it when its work has ended. */
  slot(key: string): Slot {
    return new Slot(this, key);
  }

  /**
   * Runs work in a slot of one unit.
   *
   * @param gone ends the wait for the slot, but not the work
   * @throws when no slot became free in time, or `gone` was aborted before that
   */
  async run<T>(key: string, work: () => Promise<T>, gone?: AbortSignal): Promise<T> {
    const slot = this.slot(key);
    const leave = () => slot.release();
    if (gone?.aborted) leave();
    gone?.addEventListener('abort', leave);
    try {
      await slot.acquire(1);
      gone?.removeEventListener('abort', leave);
      return await work();
    } finally {
      gone?.removeEventListener('abort', leave);
      slot.release();
    }
  }

  /**
   * Called by the slot.
   *
   * @returns undefined when there is room, else a promise that resolves once there is.
   * @throws (also by the promise) when there is none in time.
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
      const queue = this.#queues.get(slot.key);
      if (queue) queue.push(waiter);
      else this.#queues.set(slot.key, [waiter]);
      this.#waiting++;
      this.#admit();
    });
  }

  /** Called by the slot: counts units without waiting for room. */
  add(slot: Slot, units: number): void {
    if (slot.units === 0 && units > 0) this.#slotsInFlight++;
    slot.units += units;
    this.#inFlight += units;
    this.#inFlightByKey.set(slot.key, this.#keyInFlight(slot.key) + units);
  }

  /** Called by the slot: gives back all it holds, and leaves the queue. */
  release(slot: Slot): void {
    const { units, waiter } = slot;
    if (waiter) {
      this.#remove(waiter);
      waiter.reject(this.#errorFor('released'));
    }
    this.giveBack(slot, units);
  }

  /** Called by the slot: gives back some of what it holds. */
  giveBack(slot: Slot, units: number): void {
    slot.units -= units;
    if (slot.units === 0 && units > 0) this.#slotsInFlight--;
    this.#inFlight -= units;
    const left = this.#keyInFlight(slot.key) - units;
    if (left === 0) this.#inFlightByKey.delete(slot.key);
    else this.#inFlightByKey.set(slot.key, left);
    this.#admit();
  }

  /** Called by the slot: what a released one throws. */
  released(): Error {
    return this.#errorFor('released');
  }

  /** Admits waiting slots that now fit, one per key in turn. */
  #admit(): void {
    // A key that was served moves to the end of the map, where this loop reaches it again.
    for (const [key, [waiter]] of this.#queues) {
      if (waiter === undefined || !this.#keyHasRoom(waiter.slot, waiter.units)) continue;
      // A large one must not starve behind small ones, so nothing overtakes it.
      if (!this.#allHaveRoom(waiter.slot, waiter.units)) return;
      this.#remove(waiter);
      const queue = this.#queues.get(key);
      if (queue) {
        this.#queues.delete(key);
        this.#queues.set(key, queue);
      }
      this.add(waiter.slot, waiter.units);
      waiter.resolve();
    }
  }

  /** When the queue is full, refuses the newest slot of the longest queue, which may be the one that asks. */
  #makeWaitingRoom(slot: Slot, units: number): void {
    if (this.#waiting < this.#limits.maxWaiting) return;
    let longest: Waiter[] = [];
    for (const queue of this.#queues.values()) if (queue.length > longest.length) longest = queue;
    const newest = longest.at(-1);
    const own = this.#queues.get(slot.key)?.length ?? 0;
    if (newest === undefined || longest.length <= own + 1) throw this.#refusal(slot, units);
    this.#refuse(newest);
  }

  #refuse(waiter: Waiter): void {
    const refusal = this.#refusal(waiter.slot, waiter.units);
    this.#remove(waiter);
    waiter.reject(refusal);
    this.#admit();
  }

  #refusal(slot: Slot, units: number): Error {
    return this.#errorFor(this.#keyHasRoom(slot, units) ? 'at_limit' : 'key_at_limit');
  }

  #remove(waiter: Waiter): void {
    clearTimeout(waiter.timer);
    waiter.slot.waiter = undefined;
    this.#waiting--;
    const { key } = waiter.slot;
    const queue = this.#queues.get(key) ?? [];
    queue.splice(queue.indexOf(waiter), 1);
    if (queue.length === 0) this.#queues.delete(key);
  }

  #hasRoom(slot: Slot, units: number): boolean {
    return this.#keyHasRoom(slot, units) && this.#allHaveRoom(slot, units);
  }

  #keyHasRoom({ key, units: held }: Slot, units: number): boolean {
    return hasRoom(this.#limits.perKey, this.#keyInFlight(key), held, units);
  }

  #allHaveRoom({ units: held }: Slot, units: number): boolean {
    return hasRoom(this.#limits.total, this.#inFlight, held, units);
  }

  #keyInFlight(key: string): number {
    return this.#inFlightByKey.get(key) ?? 0;
  }
}

function hasRoom(limit: number, inFlight: number, held: number, units: number): boolean {
  return limit === 0 || inFlight === held || inFlight + units <= limit;
}

/** The units that some work holds until they are released. */
export class Slot {
  readonly key: string;
  /** For the limiter only. */
  units = 0;
  /** For the limiter only. */
  waiter: Waiter | undefined;
  readonly #limiter: ConcurrencyLimiter;
  #isReleased = false;

  constructor(limiter: ConcurrencyLimiter, key: string) {
    this.#limiter = limiter;
    this.key = key;
  }

  /**
   * Takes units, waiting for room if necessary. One call at a time.
   *
   * @returns undefined when there was room at once.
   * @throws (also by the promise) when there was none in time, or the slot is released.
   */
  acquire(units: number): Promise<void> | undefined {
    if (this.#isReleased) throw this.#limiter.released();
    return this.#limiter.acquire(this, units);
  }

  /** Counts units that are already in use, even beyond the limits. */
  add(units: number): void {
    if (!this.#isReleased && units > 0) this.#limiter.add(this, units);
  }

  /** Counts units that are in use, even beyond the limits, instead of some that it has taken. */
  replace(taken: number, inUse: number): void {
    if (inUse > taken) this.add(inUse - taken);
    else this.giveBack(taken - inUse);
  }

  /** Gives back some of the units. */
  giveBack(units: number): void {
    if (!this.#isReleased && units > 0) this.#limiter.giveBack(this, units);
  }

  /** Runs work that holds no units, and takes them back afterward, even beyond the limits. */
  async runWithout<T>(work: () => Promise<T>): Promise<T> {
    const { units } = this;
    this.#limiter.release(this);
    try {
      return await work();
    } finally {
      this.add(units);
    }
  }

  /** Gives back all units. The slot cannot be used again. */
  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.#limiter.release(this);
  }
}
