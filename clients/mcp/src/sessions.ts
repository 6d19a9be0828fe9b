import type { MemoryClient } from 'memory-service-client';

/** Each holds a token, which may be as long as a header. */
const MAX_SESSIONS = 1000;
/** How long a request waits for one with a lower id that has not arrived. */
const GAP_TIMEOUT_MS = 500;
/** After this many ids in a row that never arrived, another replica serves some requests, and waiting for them is no use. */
const MAX_GAPS = 3;

interface Waiting {
  id: number;
  start: () => void;
}

/**
 * Runs the requests of a session one after the other, in the order of their JSON-RPC ids, which clients count up. A host sends the calls
 * of one turn at once, over several connections, and a later one may view what an earlier one creates. The requests share a client, so an
 * outage is waited for once.
 */
export class Session {
  readonly client: MemoryClient;
  /** The id that comes next; undefined when this server has seen no request of the session. */
  #nextId: number | undefined;
  readonly #waiting: Waiting[] = [];
  /** Requests whose bodies are being read, so that their ids are not known yet. */
  #arriving = 0;
  #isRunning = false;
  #gaps = 0;
  #gapTimer: NodeJS.Timeout | undefined;

  constructor(client: MemoryClient, nextId?: number) {
    this.client = client;
    this.#nextId = nextId;
  }

  get isIdle(): boolean {
    return !this.#isRunning && this.#arriving === 0 && this.#waiting.length === 0;
  }

  /**
   * Runs a request in its turn. Call it when the request arrives.
   *
   * @param body resolves with the message once it is read
   * @param idOf an id that is a number; a message without one (a notification, a batch) runs at once
   */
  async run<T>(
    body: Promise<T>,
    idOf: (message: T) => number | undefined,
    task: (message: T) => Promise<void>,
  ): Promise<void> {
    let turn: Promise<void> | undefined;
    this.#arriving++;
    try {
      const id = idOf(await body);
      if (id !== undefined) turn = new Promise((start) => this.#waiting.push({ id, start }));
    } finally {
      this.#arriving--;
      this.#startNext();
    }
    if (turn === undefined) return task(await body);
    await turn;
    try {
      await task(await body);
    } finally {
      this.#isRunning = false;
      this.#startNext();
    }
  }

  #startNext(isGapAccepted = false): void {
    if (this.#isRunning) return;
    const first = this.#waiting.toSorted((a, b) => a.id - b.id)[0];
    if (first === undefined) return;
    const isGap = this.#nextId === undefined || first.id > this.#nextId;
    // One of those may have the lower id.
    if (isGap && this.#arriving > 0) return;
    if (isGap && this.#nextId !== undefined && this.#gaps < MAX_GAPS && !isGapAccepted) {
      this.#gapTimer ??= setTimeout(() => this.#acceptGap(), GAP_TIMEOUT_MS);
      return;
    }
    clearTimeout(this.#gapTimer);
    this.#gapTimer = undefined;
    if (!isGap) this.#gaps = 0;
    this.#waiting.splice(this.#waiting.indexOf(first), 1);
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

/** The sessions that this server has seen last. Forgetting one costs nothing but the order of its next requests. */
export class Sessions {
  readonly #sessions = new Map<string, Session>();

  /** @param nextId the id of the session's next request; for a new session */
  open(key: string, createClient: () => MemoryClient, nextId?: number): Session {
    const session = this.#sessions.get(key) ?? new Session(createClient(), nextId);
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
