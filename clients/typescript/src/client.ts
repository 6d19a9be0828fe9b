import { type Attempt, abortedFault, attempt } from './attempt.ts';
import { backoffMs, sleep } from './backoff.ts';
import {
  type ChangeEvent,
  type ChangePage,
  type ChangesOptions,
  changesUrl,
  followChanges,
  type ListChangesOptions,
  readChangePage,
} from './changes.ts';
import { type Context, type ContextOptions, readContext } from './context.ts';
import { type Fault, MemoryServiceError } from './errors.ts';
import { receiveEvents } from './event-stream.ts';
import { MemoryFiles, type Rejected, type StoreRequest } from './files.ts';
import { type Identity, readIdentity } from './identity.ts';
import {
  DEFAULT_LOGGER,
  type DEFAULTS,
  headersFor,
  type Logger,
  type MemoryClientOptions,
  serviceUrls,
  wholeNumber,
} from './options.ts';
import { Outage } from './outage.ts';
import { readInstructions, readRejection, readResult } from './response.ts';
import { MemorySharing, type SharingRequest } from './sharing.ts';
import type { MemoryInput, MemoryResult, ToolResultBlock, ToolUseBlock } from './types.ts';

export interface InstructionsOptions {
  /**
   * Whether the text begins with the memory protocol; true by default. The Claude API itself adds the protocol with the
   * memory tool.
   */
  protocol?: boolean | undefined;
  /** Aborts the call with a `MemoryServiceError` of code `aborted`. */
  signal?: AbortSignal | null | undefined;
}

export interface ExecuteOptions {
  /** Aborts the call with a `MemoryServiceError` of code `aborted`. It is then unknown whether a write was applied. */
  signal?: AbortSignal | null | undefined;
  /**
   * Applies a write once however often it is sent: 1 to 255 printable ASCII characters without spaces; a random UUID by
   * default. A `tool_use` block uses its ID instead.
   */
  idempotencyKey?: string | undefined;
}

const WARNED_ONCE =
  'The agent runs without its memory; further failures are not logged until a call succeeds.';

/**
 * A client of the memory service. It depends only on `fetch`, and runs on Node, Bun, Deno, and at the edge. All
 * conversations of a tenant can share one client.
 */
export class MemoryClient {
  readonly #urls: ReturnType<typeof serviceUrls>;
  readonly #headers: Headers;
  readonly #fetch: typeof globalThis.fetch;
  readonly #onError: MemoryClientOptions['onError'];
  readonly #logger: Logger;
  readonly #limits: typeof DEFAULTS;
  readonly #tenant: string | undefined;
  readonly #outage = new Outage();

  /** @throws TypeError when an option is invalid; its message never contains the API key. */
  constructor(options: MemoryClientOptions) {
    this.#urls = serviceUrls(options.url);
    this.#headers = headersFor(options);
    this.#limits = {
      timeoutMs: wholeNumber('timeoutMs', options.timeoutMs, 1),
      attemptTimeoutMs: wholeNumber('attemptTimeoutMs', options.attemptTimeoutMs, 1),
      maxRetries: wholeNumber('maxRetries', options.maxRetries, 0),
    };
    this.#tenant = options.tenant?.trim();
    this.#onError = options.onError;
    this.#logger = options.logger ?? DEFAULT_LOGGER;
    // Looked up at each call, so that a later replacement of the global by a test or by tracing is used. It is never
    // called as a method of another object, which some runtimes reject.
    const { fetch } = options;
    this.#fetch = (input, init) => (fetch ?? globalThis.fetch)(input, init);
  }

  /**
   * Executes one call of the memory tool. Retries network errors, timeouts, 429, and 502 to 504 with backoff, within
   * `timeoutMs`. All attempts have the same idempotency key, so a write is applied once.
   *
   * @param call a complete `tool_use` block, or only its input
   * @returns the `tool_result` block for the next message, or for an input the content and `is_error`
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
      const result = await this.#send({ type, id, name, input }, this.#headers, id, signal, id);
      return { type: 'tool_result', tool_use_id: id, ...result };
    }
    const key = options.idempotencyKey ?? crypto.randomUUID();
    if (!/^[\x21-\x7e]{1,255}$/.test(key)) {
      throw new TypeError('`idempotencyKey` must be 1 to 255 printable ASCII characters without spaces');
    }
    const headers = new Headers(this.#headers);
    headers.set('Idempotency-Key', key);
    return this.#send(call, headers, key, signal);
  }

  /**
   * Checks the options with the service, and returns the identity of the caller. Call it when a program starts, so that
   * a wrong `url`, `apiKey`, or `tenant` is an error here, and not only in a result for the model. It makes one
   * attempt, limited by the smaller of `attemptTimeoutMs` and `timeoutMs`.
   *
   * @throws MemoryServiceError with the URL and the option to change
   */
  async check({ signal: given }: { signal?: AbortSignal | null | undefined } = {}): Promise<Identity> {
    const headers = this.#headersWithoutBody();
    const message = { url: this.#urls.whoami, headers, body: undefined, read: readIdentity };
    return this.#requestOnce(message, given ?? undefined);
  }

  /**
   * Returns text for the system prompt: the memory protocol, and the mounts with their purpose.
   *
   * @throws MemoryServiceError when the service returns no text
   */
  async instructions({ protocol = true, signal }: InstructionsOptions = {}): Promise<string> {
    const headers = this.#headersWithoutBody();
    const url = new URL(this.#urls.instructions);
    if (!protocol) url.searchParams.set('protocol', 'false');
    return this.#request({ url, headers, body: undefined, read: readInstructions }, undefined, signal);
  }

  /**
   * Returns the memory for an agent before its first token: guidance for the system prompt, and a snapshot for the first
   * message. `MemoryContext` keeps both in a conversation.
   *
   * @throws MemoryServiceError when the service returns no context
   */
  async context({ since, maxChars, signal }: ContextOptions = {}): Promise<Context> {
    const headers = this.#headersWithoutBody();
    const url = new URL(this.#urls.context);
    if (since !== undefined) url.searchParams.set('since', since);
    if (maxChars !== undefined) url.searchParams.set('max_chars', String(maxChars));
    return this.#request({ url, headers, body: undefined, read: readContext }, undefined, signal);
  }

  /**
   * Returns a page of the changes to the memory, oldest first. Continue with the page's `cursor`.
   *
   * @throws MemoryServiceError when the service returns no page: with status 410, the position is older than the history
   */
  async listChanges({ signal, ...options }: ListChangesOptions = {}): Promise<ChangePage> {
    const headers = this.#headersWithoutBody();
    const url = changesUrl(this.#urls.changes, options);
    return this.#request({ url, headers, body: undefined, read: readChangePage }, undefined, signal);
  }

  /**
   * Yields the changes to the memory, oldest first, and waits for further ones. It continues after network errors,
   * 429, and 5xx for as long as they last: after `maxRetries` failures in a row, it reports the outage like a failed
   * call, and goes on. No change is lost or yielded twice.
   *
   * @throws MemoryServiceError after another rejection: 401 and 403 for the key, 404 for the tenant, or 410 for a
   *   position that is older than the history, unless there is a `resync`
   */
  changes({
    after,
    resync,
    signal,
    ...filter
  }: ChangesOptions = {}): AsyncGenerator<ChangeEvent, void, undefined> {
    const { attemptTimeoutMs: timeoutMs, maxRetries } = this.#limits;
    const common = {
      service: 'The memory service',
      fetch: this.#fetch,
      body: undefined,
      timeoutMs,
      signal: signal ?? undefined,
    };
    const requestFor = (options: ListChangesOptions, accept: string) => {
      const headers = this.#headersWithoutBody();
      headers.set('Accept', accept);
      return { ...common, headers, url: changesUrl(this.#urls.changes, options) };
    };
    const toError = (fault: Fault, tries: number) => {
      const error = new MemoryServiceError(fault, { tries });
      this.#report(fault, error);
      return error;
    };
    return followChanges(
      {
        open: (position) => receiveEvents(requestFor({ ...filter, after: position }, 'text/event-stream')),
        findEnd: () =>
          attempt({
            ...requestFor({ after: 'now', limit: 1 }, 'application/json'),
            read: (body) => readChangePage(body)?.cursor,
          }),
        noteSuccess: () => this.#outage.end(),
        noteRetry: (fault, failures, delayMs) => {
          if (failures === maxRetries + 1) toError(fault, failures);
          this.#logRetry(fault, delayMs);
        },
        toError,
      },
      { after, resync, signal },
    );
  }

  /**
   * Returns the files of the memory as whole texts, for adapters of filesystems. They are read and written over the
   * Memory Stores API, without the directories that show other memories. Create them once for each conversation.
   *
   * @param run runs each request, for a host that restricts the code that calls it
   */
  files(run: <Result>(work: () => Promise<Result>) => Promise<Result> = (work) => work()): MemoryFiles {
    let store: Promise<string> | undefined;
    const findStore = async () => {
      if (this.#tenant !== undefined) return this.#tenant;
      const headers = this.#headersWithoutBody();
      const message = { url: this.#urls.whoami, headers, body: undefined, read: readIdentity };
      return (await this.#request(message, undefined, undefined)).tenant.id;
    };
    const send = async <Result>({ method, path, query, body, read }: StoreRequest<Result>) => {
      store ??= findStore().catch((error) => {
        store = undefined;
        throw error;
      });
      const url = new URL(`${this.#urls.stores}/${encodeURIComponent(await store)}/memories${path}`);
      for (const [name, value] of Object.entries(query ?? {})) url.searchParams.set(name, value);
      const message = {
        method,
        url,
        headers: body === undefined ? this.#headersWithoutBody() : this.#headers,
        body: body === undefined ? undefined : JSON.stringify(body),
        read,
        readRejection,
      };
      return this.#request<Result | Rejected>(message, undefined, undefined);
    };
    return new MemoryFiles(
      (request) => run(() => send(request)),
      (call) => run(() => this.execute(call)),
    );
  }

  /** Returns the operations to share the memory with other tenants, and to accept their invitations. */
  sharing(): MemorySharing {
    const send = <Result>({ method, path, body, read }: SharingRequest<Result>) => {
      const url = new URL(`${this.#urls.sharing}/${path}`);
      const headers = body === undefined ? this.#headersWithoutBody() : this.#headers;
      return this.#requestOnce({ method, url, headers, body: body && JSON.stringify(body), read }, undefined);
    };
    return new MemorySharing(send);
  }

  #headersWithoutBody(): Headers {
    const headers = new Headers(this.#headers);
    headers.delete('Content-Type');
    return headers;
  }

  #send(
    body: object,
    headers: Headers,
    idempotencyKey: string,
    signal: AbortSignal | undefined,
    toolUseId?: string,
  ): Promise<MemoryResult> {
    const read = readResult(toolUseId);
    const message = { url: this.#urls.execute, headers, body: JSON.stringify(body), read };
    return this.#request(message, idempotencyKey, signal);
  }

  async #requestOnce<Result>(
    message: Pick<Attempt<Result>, 'method' | 'url' | 'headers' | 'body' | 'read'>,
    signal: AbortSignal | undefined,
  ): Promise<Result> {
    const { attemptTimeoutMs, timeoutMs } = this.#limits;
    const outcome = await attempt({
      ...message,
      service: `The memory service at ${this.#urls.base}`,
      fetch: this.#fetch,
      timeoutMs: Math.min(attemptTimeoutMs, timeoutMs),
      signal,
    });
    if ('fault' in outcome) throw new MemoryServiceError(outcome.fault, { tries: 1 });
    return outcome.result;
  }

  async #request<Result>(
    message: Pick<Attempt<Result>, 'method' | 'url' | 'headers' | 'body' | 'read' | 'readRejection'>,
    idempotencyKey: string | undefined,
    given: AbortSignal | null | undefined,
  ): Promise<Result> {
    const signal = given ?? undefined;
    const { timeoutMs, attemptTimeoutMs } = this.#limits;
    const maxRetries = this.#outage.allowsRetries() ? this.#limits.maxRetries : 0;
    const deadline = performance.now() + timeoutMs;
    const request: Omit<Attempt<Result>, 'timeoutMs'> = {
      ...message,
      service: 'The memory service',
      fetch: this.#fetch,
      signal,
    };
    const reportFailure = (fault: Fault, tries: number) => {
      const error = new MemoryServiceError(fault, {
        tries,
        ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
      });
      this.#report(fault, error);
      return error;
    };
    if (signal?.aborted) throw reportFailure(abortedFault(signal), 0);
    for (let tries = 1; ; tries++) {
      const left = deadline - performance.now();
      const outcome = await attempt({ ...request, timeoutMs: Math.max(1, Math.min(attemptTimeoutMs, left)) });
      if ('result' in outcome) {
        this.#outage.end();
        return outcome.result;
      }
      const { fault } = outcome;
      if (!fault.retryable || tries > maxRetries) throw reportFailure(fault, tries);
      const wait = backoffMs(tries, fault.retryAfterMs);
      // A call whose next attempt would exceed the deadline fails immediately.
      if (performance.now() + wait >= deadline) throw reportFailure(fault, tries);
      this.#logRetry(fault, wait);
      await sleep(wait, signal);
      if (signal?.aborted)
        throw reportFailure({ ...abortedFault(signal), requestId: fault.requestId }, tries);
    }
  }

  #logRetry(fault: Fault, delayMs: number): void {
    this.#logger.debug(`Retrying in ${(delayMs / 1000).toFixed(2)} s: ${fault.message}`);
  }

  #report(fault: Fault, error: MemoryServiceError): void {
    const first = fault.code !== 'aborted' && this.#outage.record(fault, this.#limits.timeoutMs);
    if (this.#onError) this.#onError(error);
    else if (first) this.#logger.warn(`${error.message} ${WARNED_ONCE}`);
  }
}
