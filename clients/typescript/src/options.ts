/** The options of a client, and their checks. A `TypeError` never shows the API key. */
import type { MemoryServiceError } from './errors.ts';

/** A logger for the messages of a client, such as `console` or a pino logger. */
export interface Logger {
  warn(message: string): void;
  debug(message: string): void;
}

export interface MemoryClientOptions {
  /** Where the service is, without `/execute`: `https://memory.example.com`. */
  url: string | URL;
  /** An API key (`msk_…`) or a JWT; sent as `Authorization: Bearer`. */
  apiKey?: string | undefined;
  /** The tenant, for a service key or a service without authentication. Sent as `X-Tenant-Id`. */
  tenant?: string | undefined;
  /**
   * Time limit of a call with all its retries, in milliseconds: 30,000 by default. For as long after a call that
   * ran out of retries, other calls are tried once only, until one succeeds.
   */
  timeoutMs?: number | undefined;
  /** Time limit of one attempt, in milliseconds: 10,000 by default. */
  attemptTimeoutMs?: number | undefined;
  /** Maximum number of retries of a call: 8 by default. */
  maxRetries?: number | undefined;
  /**
   * Told of each call that gets no result, before it throws: for logs, and to end a run. The agent SDKs catch what a
   * tool throws, and show it to nobody but the model. Without it the client logs a warning for the first such call, and
   * again after a call has succeeded.
   */
  onError?: ((error: MemoryServiceError) => void) | undefined;
  /** By default warnings go to `console.warn`, and messages for debugging (each retry) nowhere. */
  logger?: Logger | undefined;
  /** By default the global one. */
  fetch?: typeof globalThis.fetch | undefined;
}

export const DEFAULT_LOGGER: Logger = { warn: (message) => console.warn(message), debug: () => {} };
export const DEFAULTS = { timeoutMs: 30_000, attemptTimeoutMs: 10_000, maxRetries: 8 };

/** The URLs of a service's routes below the given one. */
export function serviceUrls(given: string | URL): {
  base: string;
  execute: URL;
  instructions: URL;
  whoami: URL;
} {
  const url = URL.canParse(String(given)) ? new URL(given) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw new TypeError('`url` must be the URL of the memory service, like https://memory.example.com');
  }
  // `fetch` rejects such URLs, and shows them in its error.
  if (url.username !== '' || url.password !== '') {
    throw new TypeError('`url` must not hold a user or a password: give the key as `apiKey`');
  }
  const path = url.pathname.replace(/\/+$/, '');
  if (path.endsWith('/execute')) {
    throw new TypeError(`\`url\` must not end in /execute, which the client adds: ${url.origin}${path}`);
  }
  const base = `${url.origin}${path}`;
  const at = (route: string) => new URL(`${base}/${route}`);
  return { base, execute: at('execute'), instructions: at('instructions'), whoami: at('whoami') };
}

/** The headers of every request. */
export function headersFor({ apiKey, tenant }: MemoryClientOptions): Headers {
  const headers = new Headers({ Accept: 'application/json', 'Content-Type': 'application/json' });
  // `Headers` shows a value that it rejects, and the key with it.
  for (const [option, value] of Object.entries({ apiKey, tenant })) {
    if (value !== undefined && !/^[\x21-\x7e]+$/.test(value.trim())) {
      throw new TypeError(`\`${option}\` is empty or holds characters that a header cannot carry`);
    }
  }
  if (apiKey !== undefined) headers.set('Authorization', `Bearer ${apiKey.trim()}`);
  if (tenant !== undefined) headers.set('X-Tenant-Id', tenant.trim());
  return headers;
}

/** A number of the options, or its default. */
export function wholeNumber(option: keyof typeof DEFAULTS, value = DEFAULTS[option], min: number): number {
  if (Number.isInteger(value) && value >= min && value < 2 ** 31) return value;
  throw new TypeError(`\`${option}\` must be a whole number, at least ${min} and below 2 ** 31`);
}
