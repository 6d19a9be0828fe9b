import type { Fault } from './errors.ts';
import { isObject, type Read, readResponse } from './response.ts';
import { injectTrace } from './tracing.ts';

/** One HTTP request. */
export interface Attempt<Result> {
  /** Name of the service for messages, with its URL if the URL may be wrong. */
  service: string;
  fetch: typeof globalThis.fetch;
  url: URL;
  headers: Headers;
  /** By default, GET without a body and POST with one. */
  method?: string;
  body: string | undefined;
  read: Read<Result>;
  /** Reads a rejection that is a result for the caller instead of a fault. */
  readRejection?: Read<Result>;
  timeoutMs: number;
  signal: AbortSignal | undefined;
}

/** Sends a request once. Never throws; an error is returned as a fault. */
export async function attempt<Result>(
  options: Attempt<Result>,
): Promise<{ result: Result } | { fault: Fault }> {
  const { service, fetch, url, body, read, timeoutMs, signal } = options;
  // Created here, so that a request without a response can be found in the service's log.
  const requestId = crypto.randomUUID();
  const headers = new Headers(options.headers);
  headers.set('X-Request-Id', requestId);
  injectTrace(headers);

  const controller = new AbortController();
  const abort = () => controller.abort(signal?.reason);
  const timer = setTimeout(() => controller.abort(), timeoutMs);
  signal?.addEventListener('abort', abort, { once: true });
  if (signal?.aborted) abort();
  try {
    // A redirect could send the memory's contents to an unknown address, or turn POST into GET.
    const init: RequestInit = {
      method: options.method ?? (body === undefined ? 'GET' : 'POST'),
      headers,
      body: body ?? null,
      redirect: 'manual',
      signal: controller.signal,
    };
    const response = await fetch(url, init);
    const request = { service, url, headers, requestId };
    return readResponse(response, await response.text(), request, read, options.readRejection);
  } catch (cause) {
    if (signal?.aborted) return { fault: { ...abortedFault(signal), requestId } };
    const fault = controller.signal.aborted ? timeoutFault(url, timeoutMs) : networkFault(url, cause);
    return { fault: { ...fault, requestId, cause } };
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
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
