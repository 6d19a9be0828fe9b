const BASE_MS = 200;
const CAP_MS = 5000;

/**
 * Returns the delay before a retry in milliseconds: exponential with full jitter, so that clients that failed together
 * do not retry together. For the same reason, the delay is added to the time of `Retry-After`.
 *
 * @param retry 1 for the first retry
 */
export function backoffMs(retry: number, retryAfterMs = 0): number {
  return retryAfterMs + Math.random() * Math.min(CAP_MS, BASE_MS * 2 ** (retry - 1));
}

/**
 * Parses a `Retry-After` header, in seconds or as an HTTP date. Returns milliseconds from now, or undefined for any
 * other value.
 */
export function parseRetryAfter(header: string | null): number | undefined {
  if (header === null) return undefined;
  if (/^\d+$/.test(header)) return Number(header) * 1000;
  // `Date.parse` accepts many formats, but an HTTP date starts with the name of a day.
  const at = /^[A-Z][a-z]{2}/.test(header) ? Date.parse(header) : Number.NaN;
  return Number.isNaN(at) ? undefined : Math.max(0, at - Date.now());
}

/** Resolves after `ms`, or when the signal aborts, whichever is first. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal?.addEventListener('abort', end, { once: true });
    if (signal?.aborted) end();
  });
}
