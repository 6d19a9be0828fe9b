import { type Attempt, abortedFault, attempt } from './attempt.ts';
import { backoffMs, sleep } from './backoff.ts';
import { type Fault, MemoryServiceError } from './errors.ts';
import type { MemoryInput, MemoryResult, ToolResultBlock, ToolUseBlock } from './types.ts';

export interface MemoryClientOptions {
  /** Where the service is, without `/execute`: `https://memory.example.com`. */
  url: string | URL;
  /** An API key (`mem_…`) or a JWT; sent as `Authorization: Bearer`. */
  apiKey?: string | undefined;
  /** Whose memory it is: with a service key, or with a service without authentication. Sent as `X-Tenant-Id`. */
  tenant?: string | undefined;
  /** How long a call may take with all its retries, in milliseconds: 30,000 by default. */
  timeoutMs?: number | undefined;
  /** How long one try may take, in milliseconds: 10,000 by default. */
  attemptTimeoutMs?: number | undefined;
  /** How often a call is tried again, at most: 8 by default. */
  maxRetries?: number | undefined;
  /**
   * Told of each call that gets no result, before it throws: for logs, and to end a run. The agent SDKs catch what a
   * tool throws, and show it to nobody but the model.
   */
  onError?: ((error: MemoryServiceError) => void) | undefined;
  /** By default the global one. */
  fetch?: typeof globalThis.fetch | undefined;
}

export interface ExecuteOptions {
  /** Ends the call with a `MemoryServiceError` of code `aborted`. Whether a write happened is then not known. */
  signal?: AbortSignal | null | undefined;
  /**
   * Makes a write happen once however often it is sent: 1 to 255 printable ASCII characters without spaces; a random
   * UUID by default. For a `tool_use` block its id is the key, and this is ignored.
   */
  idempotencyKey?: string | undefined;
}

const DEFAULTS = { timeoutMs: 30_000, attemptTimeoutMs: 10_000, maxRetries: 8 };

/**
 * A client of the memory service. Needs nothing but `fetch`: runs on Node, Bun, Deno and at the edge. One can be shared
 * by all conversations of a tenant.
 */
export class MemoryClient {
  readonly #url: URL;
  readonly #headers: Headers;
  readonly #fetch: typeof globalThis.fetch;
  readonly #onError: MemoryClientOptions['onError'];
  readonly #limits: typeof DEFAULTS;

  /** @throws TypeError when an option cannot be used; its message never holds the API key. */
  constructor(options: MemoryClientOptions) {
    this.#url = executeUrl(options.url);
    this.#headers = headersFor(options);
    this.#limits = {
      timeoutMs: wholeNumber('timeoutMs', options.timeoutMs, 1),
      attemptTimeoutMs: wholeNumber('attemptTimeoutMs', options.attemptTimeoutMs, 1),
      maxRetries: wholeNumber('maxRetries', options.maxRetries, 0),
    };
    this.#onError = options.onError;
    // Looked up at each call, so that a global that is replaced later (by a test, by tracing) is used; never called as
    // a method of something else, which some runtimes refuse.
    const { fetch } = options;
    this.#fetch = (input, init) => (fetch ?? globalThis.fetch)(input, init);
  }

  /**
   * Executes one call of the memory tool. Network errors, time-outs, 429 and 502 to 504 are tried again with backoff, within
   * `timeoutMs` and always under one idempotency key, so a write happens once.
   *
   * @param call a whole `tool_use` block, or its input alone
   * @returns for a block the `tool_result` block for the next message, else the content and the flag alone
   * @throws MemoryServiceError when there is no result
   */
  execute(call: ToolUseBlock, options?: ExecuteOptions): Promise<ToolResultBlock>;
  execute(call: MemoryInput, options?: ExecuteOptions): Promise<MemoryResult>;
  async execute(
    call: ToolUseBlock | MemoryInput,
    options: ExecuteOptions = {},
  ): Promise<ToolResultBlock | MemoryResult> {
    const signal = options.signal ?? undefined;
    if ('type' in call) {
      const { type, id, name, input } = call;
      const result = await this.#send({ type, id, name, input }, this.#headers, id, signal);
      return { type: 'tool_result', tool_use_id: id, ...result };
    }
    const key = options.idempotencyKey ?? crypto.randomUUID();
    if (!/^[\x21-\x7e]{1,255}$/.test(key)) {
      throw new TypeError('`idempotencyKey` has to be 1 to 255 printable ASCII characters without spaces');
    }
    const headers = new Headers(this.#headers);
    headers.set('Idempotency-Key', key);
    return this.#send(call, headers, key, signal);
  }

  async #send(
    body: object,
    headers: Headers,
    idempotencyKey: string,
    signal: AbortSignal | undefined,
  ): Promise<MemoryResult> {
    const { timeoutMs, attemptTimeoutMs, maxRetries } = this.#limits;
    const deadline = performance.now() + timeoutMs;
    const request: Omit<Attempt, 'timeoutMs'> = {
      fetch: this.#fetch,
      url: this.#url,
      headers,
      body: JSON.stringify(body),
      signal,
    };
    const failed = (fault: Fault, tries: number) => {
      const error = new MemoryServiceError(fault, { tries, idempotencyKey });
      this.#onError?.(error);
      return error;
    };
    if (signal?.aborted) throw failed(abortedFault(signal), 0);
    for (let tries = 1; ; tries++) {
      const left = deadline - performance.now();
      const answer = await attempt({ ...request, timeoutMs: Math.max(1, Math.min(attemptTimeoutMs, left)) });
      if ('result' in answer) return answer.result;
      const { fault } = answer;
      if (!fault.retryable || tries > maxRetries) throw failed(fault, tries);
      const wait = backoffMs(tries, fault.retryAfterMs);
      // What cannot be tried again in time is better known now than at the deadline.
      if (performance.now() + wait >= deadline) throw failed(fault, tries);
      await sleep(wait, signal);
      if (signal?.aborted) throw failed({ ...abortedFault(signal), requestId: fault.requestId }, tries);
    }
  }
}

function executeUrl(given: string | URL): URL {
  const url = URL.canParse(String(given)) ? new URL(given) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw new TypeError('`url` has to be that of the memory service, like https://memory.example.com');
  }
  // `fetch` refuses such URLs, and shows them in its error.
  if (url.username !== '' || url.password !== '') {
    throw new TypeError('`url` must not hold a user or a password: give the key as `apiKey`');
  }
  return new URL(`${url.pathname.replace(/\/+$/, '')}/execute`, url.origin);
}

function headersFor({ apiKey, tenant }: MemoryClientOptions): Headers {
  const headers = new Headers({ Accept: 'application/json', 'Content-Type': 'application/json' });
  // `Headers` would show a value that it refuses, and the key with it.
  for (const [option, value] of Object.entries({ apiKey, tenant })) {
    if (value !== undefined && !/^[\x21-\x7e]+$/.test(value.trim())) {
      throw new TypeError(`\`${option}\` is empty or holds characters that a header cannot carry`);
    }
  }
  if (apiKey !== undefined) headers.set('Authorization', `Bearer ${apiKey.trim()}`);
  if (tenant !== undefined) headers.set('X-Tenant-Id', tenant.trim());
  return headers;
}

function wholeNumber(option: keyof typeof DEFAULTS, value = DEFAULTS[option], min: number): number {
  if (Number.isInteger(value) && value >= min && value < 2 ** 31) return value;
  throw new TypeError(`\`${option}\` has to be a whole number, at least ${min} and below 2 ** 31`);
}
