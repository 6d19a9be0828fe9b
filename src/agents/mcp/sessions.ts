/** Each holds a name that callers choose. */
const MAX_SESSIONS = 1000;
/**
 * After this many ids in a row that never arrived, another replica serves some of the requests, so waiting for them
 * is pointless.
 */
const MAX_GAPS = 3;

/**
 * Runs the requests of a session one after the other, in the order of their JSON-RPC ids, which clients count up. A
 * host sends the calls of one turn at once, over several connections, and a later one may view what an earlier one
 * creates.
 */
export class Session {
  /** How long a request waits for one with a lower id that has not arrived. */
  readonly #gapTimeoutMs: number;
  /** The id that comes next; undefined when this server has seen no request of the session. */
  #nextId: number | undefined;
  readonly #waiting = new Set<Waiting>();
  /** Requests whose bodies are being read, so that their ids are not known yet. */
  #arriving = 0;
  #isRunning = false;
  #gaps = 0;
  #gapTimer: NodeJS.Timeout | undefined;

  constructor({ gapTimeoutMs, nextId }: { gapTimeoutMs: number; nextId?: number | undefined }) {
    this.#gapTimeoutMs = gapTimeoutMs;
    this.#nextId = nextId;
  }

  get isIdle(): boolean {
    return !this.#isRunning && this.#arriving === 0 && this.#waiting.size === 0;
  }

  /** Call it when a request arrives, before its body is read. End what it returns, whatever becomes of the request. */
  arrive(): Turn {
    this.#arriving++;
    return new Turn(this);
  }

  /** Called by the turn, when the body is read, or never will be. */
  arrived(waiting?: Waiting): void {
    this.#arriving--;
    if (waiting) this.#waiting.add(waiting);
    this.#startNext();
  }

  /** Called by the turn. */
  end(waiting: Waiting): void {
    if (!this.#waiting.delete(waiting)) this.#isRunning = false;
    this.#startNext();
  }

  #startNext(isGapAccepted = false): void {
    if (this.#isRunning) return;
    const first = [...this.#waiting].sort((a, b) => a.id - b.id)[0];
    if (first === undefined) return;
    const isGap = this.#nextId === undefined || first.id > this.#nextId;
    // One of those may have the lower id.
    if (isGap && this.#arriving > 0) return;
    if (isGap && this.#nextId !== undefined && this.#gaps < MAX_GAPS && !isGapAccepted) {
      this.#gapTimer ??= setTimeout(() => this.#acceptGap(), this.#gapTimeoutMs);
      return;
    }
    clearTimeout(this.#gapTimer);
    this.#gapTimer = undefined;
    if (!isGap) this.#gaps = 0;
    this.#waiting.delete(first);
    this.#nextId = Math.max(this.#nextId ?? 0, first.id + 1);
    this.#isRunning = true;
    first.start();
  }

  #acceptGap(): void {
    this.#gapTimer = undefined;
    this.#gaps++;
    this.#startNext(true);
  }
}

interface Waiting {
  id: number;
  start: () => void;
}

/** The turn of one request. */
export class Turn {
  readonly #session: Session;
  #hasArrived = false;
  #waiting: Waiting | undefined;

  constructor(session: Session) {
    this.#session = session;
  }

  /**
   * Resolves when it is the request's turn, or it has ended. A message without an id (a notification, a batch) runs
   * at once.
   */
  async start(id: number | undefined): Promise<void> {
    if (this.#hasArrived) return;
    this.#hasArrived = true;
    if (id === undefined) return this.#session.arrived();
    await new Promise<void>((start) => {
      this.#waiting = { id, start };
      this.#session.arrived(this.#waiting);
    });
  }

  /** May be called again. */
  end(): void {
    if (!this.#hasArrived) {
      this.#hasArrived = true;
      this.#session.arrived();
    }
    const waiting = this.#waiting;
    if (waiting === undefined) return;
    this.#waiting = undefined;
    this.#session.end(waiting);
    waiting.start();
  }
}

/** The most recently seen sessions. Forgetting one only loses the order of its next requests. */
export class Sessions {
  readonly #sessions = new Map<string, Session>();
  readonly #gapTimeoutMs: number;

  constructor({ gapTimeoutMs }: { gapTimeoutMs: number }) {
    this.#gapTimeoutMs = gapTimeoutMs;
  }

  /** @param nextId the id of the session's next request; for a new session */
  open(key: string, nextId?: number): Session {
    const session = this.#sessions.get(key) ?? new Session({ gapTimeoutMs: this.#gapTimeoutMs, nextId });
    // The end of the map has the one that was used last.
    this.#sessions.delete(key);
    this.#sessions.set(key, session);
    if (this.#sessions.size > MAX_SESSIONS) this.#forgetOldest();
    return session;
  }

  #forgetOldest(): void {
    for (const [key, session] of this.#sessions) {
      if (!session.isIdle) continue;
      this.#sessions.delete(key);
      return;
    }
  }
}

/** The id by which a message is ordered: of a request, a number. */
export function orderOf(message: unknown): number | undefined {
  const isRequest = typeof message === 'object' && message !== null && 'method' in message && 'id' in message;
  return isRequest && Number.isSafeInteger(message.id) ? Number(message.id) : undefined;
}
