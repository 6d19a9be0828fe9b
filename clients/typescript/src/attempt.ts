import { parseRetryAfter } from './backoff.ts';
import type { Fault } from './errors.ts';
import { injectTrace } from './tracing.ts';
import type { MemoryResult } from './types.ts';

/** One HTTP request of a call. */
export interface Attempt {
  fetch: typeof globalThis.fetch;
  url: URL;
  headers: Headers;
  body: string;
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
      method: 'POST',
      headers,
      body,
      redirect: 'manual',
      signal: controller.signal,
    };
    const response = await fetch(url, init);
    return readAnswer(response, await response.text(), requestId);
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
  const message = `The memory service at ${origin} cannot be reached${why}. Check the URL and that the service runs.`;
  return { code: 'network_error', message, retryable: true };
}

function codeOf(error: unknown): string | undefined {
  const code = isObject(error) ? error.code : undefined;
  return typeof code === 'string' && /^\w+$/.test(code) ? code : undefined;
}

// 502 and 504 are how a gateway reports what is a network error without it.
const RETRYABLE = new Set([429, 502, 503, 504]);

function readAnswer(
  { status, headers }: Response,
  text: string,
  sentId: string,
): { result: MemoryResult } | { fault: Fault } {
  const requestId = headers.get('X-Request-Id') ?? sentId;
  if (status === 200) {
    const { content, is_error } = parseJson(text);
    if (typeof content === 'string' && typeof is_error === 'boolean') {
      return { result: { content, is_error } };
    }
    const message = 'The answer is not that of a memory service. Check the URL.';
    return { fault: { status, code: 'invalid_answer', message, requestId, retryable: false } };
  }
  // Anything else than a problem may be a gateway's page, which may show what it was sent.
  const body = headers.get('Content-Type')?.startsWith('application/problem+json') ? parseJson(text) : {};
  const code = typeof body.code === 'string' ? body.code : `http_${status}`;
  const detail = typeof body.detail === 'string' ? `: ${body.detail}` : hint(status);
  return {
    fault: {
      status,
      code,
      message: `The memory service answered ${status} ${code}${detail}`,
      requestId,
      retryable: RETRYABLE.has(status),
      retryAfterMs: parseRetryAfter(headers.get('Retry-After')),
    },
  };
}

/** For an answer that is not a problem of the service, so of something in front of it or in its place. */
function hint(status: number): string {
  // A browser shows a redirect that it did not follow as status 0.
  return status === 0 || (status >= 300 && status < 400)
    ? ': it redirects. Set the url to where it redirects to.'
    : '.';
}

function parseJson(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
