import type { MemoryServiceError } from './errors.ts';

/** A logger for the messages of a client, such as `console` or a pino logger. */
export interface Logger {
  warn(message: string): void;
  debug(message: string): void;
}

export interface MemoryClientOptions {
  /** URL of the service, without `/execute`: `https://memory.example.com`. */
  url: string | URL;
  /** An API key (`msk_…`) or a JWT, sent as `Authorization: Bearer`. */
  apiKey?: string | undefined;
  /** The tenant, for a service key or a service without authentication. Sent as `X-Tenant-Id`. */
  tenant?: string | undefined;
  /**
   * Whether views and searches say who wrote each line last, if the tenant's setting `provenance` allows it. By default,
   * the setting decides. Sent as `X-Memory-Provenance`.
   */
  provenance?: boolean | undefined;
  /**
   * Time limit of a call with all its retries, in milliseconds; 30,000 by default. After a call that used up its
   * retries, other calls are attempted only once for the same time, or until a call succeeds.
   */
  timeoutMs?: number | undefined;
  /** Time limit of one attempt, in milliseconds; 10,000 by default. */
  attemptTimeoutMs?: number | undefined;
  /** Maximum number of retries of a call; 8 by default. */
  maxRetries?: number | undefined;
  /**
   * Called for each call without a result, before it throws, and for an outage that interrupts `changes`: for logs, and
   * to end a run. Agent SDKs catch the errors of tools and show them only to the model. Without this option, the client
   * logs a warning for the first such call, and again after a successful call.
   */
  onError?: ((error: MemoryServiceError) => void) | undefined;
  /** By default, warnings are sent to `console.warn`, and debug messages (each retry) are dropped. */
  logger?: Logger | undefined;
  /** The global `fetch` by default. */
  fetch?: typeof globalThis.fetch | undefined;
}

export const DEFAULT_LOGGER: Logger = { warn: (message) => console.warn(message), debug: () => {} };
export const DEFAULTS = { timeoutMs: 30_000, attemptTimeoutMs: 10_000, maxRetries: 8 };

/** Returns the URLs of the service's routes below the given URL. */
export function serviceUrls(given: string | URL): {
  base: string;
  execute: URL;
  changes: URL;
  context: URL;
  instructions: URL;
  whoami: URL;
  stores: URL;
  sharing: URL;
} {
  const url = URL.canParse(String(given)) ? new URL(given) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw new TypeError('`url` must be the URL of the memory service, like https://memory.example.com');
  }
  // `fetch` rejects such URLs, and its error contains them.
  if (url.username !== '' || url.password !== '') {
    throw new TypeError('`url` must not hold a user or a password: give the key as `apiKey`');
  }
  const path = url.pathname.replace(/\/+$/, '');
  if (path.endsWith('/execute')) {
    throw new TypeError(`\`url\` must not end in /execute, which the client adds: ${url.origin}${path}`);
  }
  const base = `${url.origin}${path}`;
  const endpointUrl = (route: string) => new URL(`${base}/${route}`);
  return {
    base,
    execute: endpointUrl('execute'),
    changes: endpointUrl('v1/changes'),
    context: endpointUrl('context'),
    instructions: endpointUrl('instructions'),
    whoami: endpointUrl('whoami'),
    stores: endpointUrl('v1/memory_stores'),
    sharing: endpointUrl('v1'),
  };
}

/** Returns the headers of every request. */
export function headersFor({ apiKey, tenant, provenance }: MemoryClientOptions): Headers {
  const headers = new Headers({ Accept: 'application/json', 'Content-Type': 'application/json' });
  // `Headers` quotes a rejected value in its error, which would reveal the key.
  for (const [option, value] of Object.entries({ apiKey, tenant })) {
    if (value !== undefined && !/^[\x21-\x7e]+$/.test(value.trim())) {
      throw new TypeError(`\`${option}\` is empty or holds characters that a header cannot carry`);
    }
  }
  if (apiKey !== undefined) headers.set('Authorization', `Bearer ${apiKey.trim()}`);
  if (tenant !== undefined) headers.set('X-Tenant-Id', tenant.trim());
  if (provenance !== undefined) headers.set('X-Memory-Provenance', provenance ? 'include' : 'omit');
  return headers;
}

/** Returns a validated number from the options, or its default. */
export function wholeNumber(option: keyof typeof DEFAULTS, value = DEFAULTS[option], min: number): number {
  if (Number.isInteger(value) && value >= min && value < 2 ** 31) return value;
  throw new TypeError(`\`${option}\` must be a whole number, at least ${min} and below 2 ** 31`);
}
