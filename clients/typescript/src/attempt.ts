import { isObject, readAnswer } from './answer.ts';
import type { Fault } from './errors.ts';
import { injectTrace } from './tracing.ts';
import type { MemoryResult } from './types.ts';

/** One HTTP request of a call. */
export interface Attempt {
  fetch: typeof globalThis.fetch;
  url: URL;
  headers: Headers;
  /** Undefined for a GET. */
  body: string | undefined;
  timeoutMs: number;
  signal: AbortSignal | undefined;
}

/** Sends a request once. Never throws: what went wrong is a fault. */
export async function attempt(options: Attempt): Promise<{ result: MemoryResult } | { fault: Fault }> {
  const { fetch, url, body, timeoutMs, signal } = options;
  // Made here, so that a request that is never answered can be found in the service's log as well.
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
    // A redirect would send the memory's contents to an address that nobody configured, or turn POST into GET.
    const init: RequestInit = {
      method: body === undefined ? 'GET' : 'POST',
      headers,
      ...(body === undefined ? {} : { body }),
      redirect: 'manual',
      signal: controller.signal,
    };
    const response = await fetch(url, init);
    return readAnswer(response, await response.text(), {
      url,
      headers,
      requestId,
      isCall: body !== undefined,
    });
  } catch (cause) {
    if (signal?.aborted) return { fault: { ...abortedFault(signal), requestId } };
    const fault = controller.signal.aborted ? timeoutFault(url, timeoutMs) : networkFault(url, cause);
    return { fault: { ...fault, requestId, cause } };
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
  }
}

/** The fault of a call that the caller's own signal ended. */
export function abortedFault(signal: AbortSignal): Fault {
  const message = 'The call of the memory service was aborted by its signal.';
  return { code: 'aborted', message, retryable: false, cause: signal.reason };
}

function timeoutFault({ origin }: URL, timeoutMs: number): Fault {
  const message = `The memory service at ${origin} gave no answer within ${Math.round(timeoutMs)} ms.`;
  return { code: 'timeout', message, retryable: true };
}

function networkFault({ origin }: URL, cause: unknown): Fault {
  // Only the code: whose `fetch` it is, and so what its message holds, is not known here.
  const code = codeOf(cause) ?? (cause instanceof Error ? codeOf(cause.cause) : undefined);
  const why = code === undefined ? '' : `: ${code}`;
  const message = `The memory service at ${origin} cannot be reached${why}. Check \`url\` and that the service runs.`;
  return { code: 'network_error', message, retryable: true };
}

function codeOf(error: unknown): string | undefined {
  const code = isObject(error) ? error.code : undefined;
  return typeof code === 'string' && /^\w+$/.test(code) ? code : undefined;
}
