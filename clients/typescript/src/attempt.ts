import type { Fault } from './errors.ts';
import { isObject, type Read, readResponse } from './response.ts';
import { injectTrace } from './tracing.ts';

/** One HTTP request. */
export interface RequestOptions {
  /** Name of the service for messages, with its URL if the URL may be wrong. */
  service: string;
  fetch: typeof globalThis.fetch;
  url: URL;
  headers: Headers;
  /** By default, GET without a body and POST with one. */
  method?: string;
  body: string | undefined;
  timeoutMs: number;
  signal: AbortSignal | undefined;
}

/** A request whose response is one JSON value. */
export interface Attempt<Result> extends RequestOptions {
  read: Read<Result>;
  /** Reads a rejection that is a result for the caller instead of a fault. */
  readRejection?: Read<Result>;
}

/** Sends a request once. Never throws; an error is returned as a fault. */
export async function attempt<Result>(
  options: Attempt<Result>,
): Promise<{ result: Result } | { fault: Fault }> {
  const request = new LimitedRequest(options);
  try {
    const response = await request.send();
    return readResponse(response, await response.text(), request, options.read, options.readRejection);
  } catch (cause) {
    return { fault: request.toFault(cause) };
  } finally {
    request.end();
  }
}

/** A request that ends at its time limit, or when the caller's signal aborts. */
export class LimitedRequest {
  readonly service: string;
  readonly url: URL;
  readonly headers: Headers;
  // Created here, so that a request without a response can be found in the service's log.
  readonly requestId = crypto.randomUUID();
  readonly #options: RequestOptions;
  readonly #controller = new AbortController();
  readonly #abort = () => this.#controller.abort(this.#options.signal?.reason);
  #timeoutMs = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(options: RequestOptions) {
    const { service, url, headers, signal } = options;
    this.#options = options;
    this.service = service;
    this.url = url;
    this.headers = new Headers(headers);
    this.headers.set('X-Request-Id', this.requestId);
    injectTrace(this.headers);
    signal?.addEventListener('abort', this.#abort, { once: true });
    if (signal?.aborted) this.#abort();
  }

  send(): Promise<Response> {
    const { fetch, url, method, body, timeoutMs } = this.#options;
    this.setTimeLimit(timeoutMs);
    // A redirect could send the memory's contents to an unknown address, or turn POST into GET.
    const init: RequestInit = {
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      headers: this.headers,
      body: body ?? null,
      redirect: 'manual',
      signal: this.#controller.signal,
    };
    return fetch(url, init);
  }

  /** Replaces the time limit by a limit from now on. */
  setTimeLimit(timeoutMs: number): void {
    this.clearTimeLimit();
    this.#timeoutMs = timeoutMs;
    this.#timer = setTimeout(() => this.#controller.abort(), timeoutMs);
  }

  clearTimeLimit(): void {
    clearTimeout(this.#timer);
  }

  /** Converts an error of `fetch`, or of reading the response. */
  toFault(cause: unknown): Fault {
    const { signal, url } = this.#options;
    const { requestId } = this;
    if (signal?.aborted) return { ...abortedFault(signal), requestId };
    const fault = this.#controller.signal.aborted
      ? timeoutFault(url, this.#timeoutMs)
      : networkFault(url, cause);
    return { ...fault, requestId, cause };
  }

  end(): void {
    this.clearTimeLimit();
    this.#options.signal?.removeEventListener('abort', this.#abort);
  }

  /** Ends the request, and its connection if the response has not ended. */
  cancel(): void {
    this.end();
    this.#controller.abort();
  }
}

/** Returns the fault of a call that the caller's signal aborted. */
export function abortedFault(signal: AbortSignal): Fault {
  const message = 'The call of the memory service was aborted by its signal.';
  return { code: 'aborted', message, retryable: false, cause: signal.reason };
}

function timeoutFault({ origin }: URL, timeoutMs: number): Fault {
  const message = `The memory service at ${origin} sent no response within ${Math.round(timeoutMs)} ms.`;
  return { code: 'timeout', message, retryable: true };
}

function networkFault({ origin, protocol }: URL, cause: unknown): Fault {
  // Only the code is shown. `fetch` may be any implementation, so its message may contain anything.
  const code = errorCode(cause) ?? (cause instanceof Error ? errorCode(cause.cause) : undefined);
  const why = code === undefined ? '' : `: ${code}`;
  const message = `The memory service at ${origin} cannot be reached${why}. ${adviceOnCode(code, protocol)}`;
  return { code: 'network_error', message, retryable: true };
}

/** Returns advice on an error code. Node defines these codes, and Bun shares some of them. */
function adviceOnCode(code = '', protocol: string): string {
  if (code === 'ERR_SSL_WRONG_VERSION_NUMBER' || code === 'ERR_SSL_PACKET_LENGTH_TOO_LONG')
    return 'It does not speak TLS: if it has none, start `url` with http://.';
  if (/CERT|SELF_SIGNED|UNABLE_TO_(GET|VERIFY)/.test(code))
    return 'Its TLS certificate is not trusted: check the host name in `url`, or make its authority known (NODE_EXTRA_CA_CERTS).';
  // A TLS server closes the connection on a request without TLS, or sends an alert.
  if (/^(UND_ERR_SOCKET|HPE_INVALID_\w+)$/.test(code) && protocol === 'http:')
    return 'Its response is not HTTP: if it has TLS, start `url` with https://.';
  return 'Check `url` and that the service runs.';
}

function errorCode(error: unknown): string | undefined {
  const code = isObject(error) ? error.code : undefined;
  return typeof code === 'string' && /^\w+$/.test(code) ? code : undefined;
}
