/** Limits for a database's statements that combine many calls, and the number of such statements now running. */
export class BatchLimits {
  /** Maximum number of calls in a statement; 1 disables batching. */
  readonly calls: number;
  /** Number of connections for these statements. */
  readonly connections: number;
  /** Number of statements that run or wait for a connection. */
  running = 0;

  constructor(calls: number, connections: number) {
    this.calls = calls;
    this.connections = connections;
  }
}

/** The newest statement's weight in the average. */
const WEIGHT = 1 / 16;

/**
 * Running statements of one kind, such as views of files or calls to a write function. Decides when waiting calls are
 * sent. See docs/decisions/0030-statements-side-by-side.md.
 */
export class RunningStatements {
  readonly #limits: BatchLimits;
  #count = 0;
  /** Number of calls in the newest statement. */
  #calls = 0;
  /** Average share (0 to 1) of the time in which the server does not execute a statement. 1 if never measured. */
  #idle = 1;

  constructor(limits: BatchLimits) {
    this.#limits = limits;
  }

  /**
   * Whether to send waiting calls now. Beside a running statement, another one starts on a free connection with a full
   * batch. It also starts with half as many calls as the newest statement, if statements mostly wait for the disk or
   * the network. Otherwise, both would share the server's processor, and each would serve fewer calls.
   *
   * @param waiting number of waiting calls that one statement can execute
   */
  mayStart(waiting: number): boolean {
    if (this.#count === 0) return waiting > 0;
    if (this.#limits.running >= this.#limits.connections) return false;
    return waiting >= this.#limits.calls || (this.#idle > 0.5 && isWorthSending(waiting, this.#calls));
  }

  start(calls: number): void {
    this.#count++;
    this.#limits.running++;
    this.#calls = calls;
  }

  end(): void {
    this.#count--;
    this.#limits.running--;
  }

  /**
   * Counts a statement for the average.
   *
   * @param executing time in which the server executed it, without its commit
   * @param total time until its result arrived
   */
  measure(executing: number, total: number): void {
    this.#idle += WEIGHT * (1 - executing / total - this.#idle);
  }
}

/**
 * Whether to send waiting calls immediately after a statement with `sent` calls, before its callers get their results.
 * This keeps the server busy. Fewer calls wait instead, because the callers will send further calls.
 */
export function isWorthSending(waiting: number, sent: number): boolean {
  return waiting > 0 && waiting >= sent / 2;
}
