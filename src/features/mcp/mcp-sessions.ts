/** Limit on sessions in memory. The limit is necessary because callers choose the session IDs. */
const MAX_SESSIONS = 1000;
/**
 * Limit on consecutive IDs that never arrived. At the limit, another replica evidently handles some requests, and
 * waiting is pointless.
 */
const MAX_GAPS = 3;

/**
 * Runs a session's requests one at a time, ordered by their JSON-RPC IDs, which clients count up. A host sends several
 * calls at the same time over several connections, and a later call may view a file that an earlier call creates.
 */
export class Session {
  /** Maximum time that a request waits for a request with a lower ID. */
  readonly #gapTimeoutMs: number;
  /** The next expected ID. Undefined before the session's first request on this server. */
  #nextId: number | undefined;
  readonly #waiting = new Set<Waiting>();
  /** Number of requests whose bodies are still being read, so that their IDs are unknown. */
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

  /**
   * Registers a request that has arrived, before its body is read. The caller must end the returned turn in every case.
   */
  arrive(): Turn {
    this.#arriving++;
    return new Turn(this);
  }

  /** Called by the turn when the body has been read, or when reading it has failed. */
  noteArrival(waiting?: Waiting): void {
    this.#arriving--;
    if (waiting) this.#waiting.add(waiting);
    this.#startNext();
  }

  /** Called by the turn when its request has ended. */
  end(waiting: Waiting): void {
    if (!this.#waiting.delete(waiting)) this.#isRunning = false;
    this.#startNext();
  }

  #startNext(isGapAccepted = false): void {
    if (this.#isRunning) return;
    const first = [...this.#waiting].sort((a, b) => a.id - b.id)[0];
    if (first === undefined) return;
    const isGap = this.#nextId === undefined || first.id > this.#nextId;
    // The request with the lower ID may be among the requests whose bodies are still being read.
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

/** A request's place in the sequence for its session. */
export class Turn {
  readonly #session: Session;
  #hasArrived = false;
  #waiting: Waiting | undefined;

  constructor(session: Session) {
    this.#session = session;
  }

  /**
   * Waits until the request may run, or has ended. A message without an ID (a notification or a batch) runs
   * immediately.
   */
  async start(id: number | undefined): Promise<void> {
    if (this.#hasArrived) return;
    this.#hasArrived = true;
    if (id === undefined) return this.#session.noteArrival();
    await new Promise<void>((start) => {
      this.#waiting = { id, start };
      this.#session.noteArrival(this.#waiting);
    });
  }

  /** Ends the turn. A second call has no effect. */
  end(): void {
    if (!this.#hasArrived) {
      this.#hasArrived = true;
      this.#session.noteArrival();
    }
    const waiting = this.#waiting;
    if (waiting === undefined) return;
    this.#waiting = undefined;
    this.#session.end(waiting);
    waiting.start();
  }
}

/** The most recently used sessions. A forgotten session only loses the order of its next requests. */
export class Sessions {
  readonly #sessions = new Map<string, Session>();
  readonly #gapTimeoutMs: number;

  constructor({ gapTimeoutMs }: { gapTimeoutMs: number }) {
    this.#gapTimeoutMs = gapTimeoutMs;
  }

  /** @param nextId the next request's ID, for a new session */
  open(key: string, nextId?: number): Session {
    const session = this.#sessions.get(key) ?? new Session({ gapTimeoutMs: this.#gapTimeoutMs, nextId });
    // The map's last entry is the most recently used session, so the session is moved to the end.
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

/** Returns the ID that determines a request's order, or undefined for a message without a numeric ID. */
export function requestOrder(message: unknown): number | undefined {
  const isRequest = typeof message === 'object' && message !== null && 'method' in message && 'id' in message;
  return isRequest && Number.isSafeInteger(message.id) ? Number(message.id) : undefined;
}
