/** Limits in units, such as requests or bytes. 0 means no limit. */
export interface ConcurrencyLimits {
  /** Maximum number of units in flight for all keys. */
  total: number;
  /** Maximum number of units in flight for one key. */
  perKey: number;
  maxWaiting: number;
  /** Maximum time that a slot waits for all its units together. */
  maxWaitMs: number;
}

/** The reason for rejecting a slot: its key's limit, the limit for all keys, or a release during the wait. */
export type Rejection = 'key_at_limit' | 'at_limit' | 'released';

interface Waiter {
  slot: Slot;
  units: number;
  resolve(): void;
  reject(error: Error): void;
  timer: NodeJS.Timeout;
  startedAt: number;
}

/** A key's units in flight, shared by its slots. */
interface Share {
  readonly key: string;
  inFlight: number;
  /** Number of slots that are not released. */
  slots: number;
}

/**
 * Limits the units in flight. At the limit, slots wait: in arrival order within a key, and alternating between keys, so
 * that a long queue delays only its own key. A slot that waits too long is rejected.
 *
 * A slot that holds all units in flight may exceed the limit, because otherwise a large request could never run.
 */
export class ConcurrencyLimiter {
  readonly #limits: ConcurrencyLimits;
  readonly #errorFor: (rejection: Rejection) => Error;
  #inFlight = 0;
  #slotsInFlight = 0;
  readonly #shares = new Map<string, Share>();
  #waiting = 0;
  /** The keys' queues, in service order. */
  readonly #queues = new Map<string, Waiter[]>();

  /** @param errorFor creates the error to throw */
  constructor(limits: ConcurrencyLimits, errorFor: (rejection: Rejection) => Error) {
    this.#limits = limits;
    this.#errorFor = errorFor;
  }

  /** Number of units in flight, of slots that hold units, and of waiting slots. */
  get current(): { inFlight: number; slots: number; waiting: number } {
    return { inFlight: this.#inFlight, slots: this.#slotsInFlight, waiting: this.#waiting };
  }

  /** Returns an empty slot. The caller must release the slot when its work ends. */
  slot(key: string): Slot {
    let share = this.#shares.get(key);
    if (share === undefined) {
      share = { key, inFlight: 0, slots: 0 };
      this.#shares.set(key, share);
    }
    share.slots++;
    return new Slot(this, share);
  }

  /**
   * Runs work in a slot with one unit.
   *
   * @param gone ends the wait for the slot, but not the work
   * @throws if no slot is available in time, or if `gone` aborts first
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
   * @returns undefined if the units are available immediately, and otherwise a promise that resolves when they are
   * @throws (also through the promise) if the units are not available in time
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
        timer: setTimeout(() => this.#reject(waiter), this.#limits.maxWaitMs - slot.waitedMs),
        startedAt: performance.now(),
      };
      slot.waiter = waiter;
      const queue = this.#queues.get(slot.key);
      if (queue) queue.push(waiter);
      else this.#queues.set(slot.key, [waiter]);
      this.#waiting++;
      this.#admit();
    });
  }

  /** Called by the slot. Adds units without waiting and beyond the limits. */
  add(slot: Slot, units: number): void {
    if (slot.units === 0 && units > 0) this.#slotsInFlight++;
    slot.units += units;
    this.#inFlight += units;
    slot.share.inFlight += units;
  }

  /** Called by the slot. Releases all the slot's units and removes the slot from the queue. */
  release(slot: Slot): void {
    const { units, waiter } = slot;
    if (waiter) {
      this.#remove(waiter);
      waiter.reject(this.#errorFor('released'));
    }
    slot.share.slots--;
    if (slot.share.slots === 0) this.#shares.delete(slot.key);
    this.releaseUnits(slot, units);
  }

  releaseUnits(slot: Slot, units: number): void {
    slot.units -= units;
    if (slot.units === 0 && units > 0) this.#slotsInFlight--;
    this.#inFlight -= units;
    slot.share.inFlight -= units;
    if (this.#waiting > 0) this.#admit();
  }

  releasedError(): Error {
    return this.#errorFor('released');
  }

  /** Admits waiting slots that now fit, alternating between keys. */
  #admit(): void {
    // A served key moves to the end of the map, and this loop also visits the new end.
    for (const [key, [waiter]] of this.#queues) {
      if (waiter === undefined || !this.#keyHasRoom(waiter.slot, waiter.units)) continue;
      // Later slots have to wait as well, because otherwise small slots could delay a large slot forever.
      if (!this.#allHaveRoom(waiter.slot, waiter.units)) return;
      this.#remove(waiter);
      const queue = this.#queues.get(key);
      if (queue) {
        this.#queues.delete(key);
        this.#queues.set(key, queue);
      }
      this.add(waiter.slot, waiter.units);
      waiter.slot.waitedMs += performance.now() - waiter.startedAt;
      waiter.resolve();
    }
  }

  /** If the queue is full, rejects the longest queue's newest slot, which may be the new slot. */
  #makeWaitingRoom(slot: Slot, units: number): void {
    if (this.#waiting < this.#limits.maxWaiting) return;
    let longest: Waiter[] = [];
    for (const queue of this.#queues.values()) if (queue.length > longest.length) longest = queue;
    const newest = longest.at(-1);
    const own = this.#queues.get(slot.key)?.length ?? 0;
    if (newest === undefined || longest.length <= own + 1) throw this.#rejectionError(slot, units);
    this.#reject(newest);
  }

  #reject(waiter: Waiter): void {
    const rejection = this.#rejectionError(waiter.slot, waiter.units);
    this.#remove(waiter);
    waiter.reject(rejection);
    this.#admit();
  }

  #rejectionError(slot: Slot, units: number): Error {
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

  #keyHasRoom({ share, units: held }: Slot, units: number): boolean {
    return hasRoom(this.#limits.perKey, share.inFlight, held, units);
  }

  #allHaveRoom({ units: held }: Slot, units: number): boolean {
    return hasRoom(this.#limits.total, this.#inFlight, held, units);
  }
}

function hasRoom(limit: number, inFlight: number, held: number, units: number): boolean {
  return limit === 0 || inFlight === held || inFlight + units <= limit;
}

/** The units that some work holds until their release. */
export class Slot {
  /** Only the limiter may change the share. */
  readonly share: Share;
  /** Number of units that the slot holds. Only the limiter may change the number. */
  units = 0;
  /** The slot's place in the queue. Only the limiter may change the place. */
  waiter: Waiter | undefined;
  /** Time that the slot has waited for the units that it got. Only the limiter may change the time. */
  waitedMs = 0;
  readonly #limiter: ConcurrencyLimiter;
  #isReleased = false;

  constructor(limiter: ConcurrencyLimiter, share: Share) {
    this.#limiter = limiter;
    this.share = share;
  }

  get key(): string {
    return this.share.key;
  }

  /**
   * Acquires units and waits for them if necessary. Concurrent calls are not allowed.
   *
   * @returns undefined if the units were available immediately
   * @throws (also through the promise) if the units are not available in time, or if the slot is released
   */
  acquire(units: number): Promise<void> | undefined {
    if (this.#isReleased) throw this.#limiter.releasedError();
    return this.#limiter.acquire(this, units);
  }

  /** Adds units that are already in use, even beyond the limits. */
  add(units: number): void {
    if (!this.#isReleased && units > 0) this.#limiter.add(this, units);
  }

  /** Replaces acquired units with the units that are in use, even beyond the limits. */
  replace(taken: number, inUse: number): void {
    if (inUse > taken) this.add(inUse - taken);
    else this.releaseUnits(taken - inUse);
  }

  releaseUnits(units: number): void {
    if (!this.#isReleased && units > 0) this.#limiter.releaseUnits(this, units);
  }

  /** Releases all units while `work` runs, and adds them again afterward, even beyond the limits. */
  async runWithout<T>(work: () => Promise<T>): Promise<T> {
    const { units } = this;
    this.#limiter.releaseUnits(this, units);
    try {
      return await work();
    } finally {
      this.add(units);
    }
  }

  /** Releases all units. The slot cannot be used again. */
  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.#limiter.release(this);
  }
}
