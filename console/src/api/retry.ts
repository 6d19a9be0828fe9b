import { signal } from '@preact/signals';

/** Maximum retries for a `GET`. */
const RETRIES = 2;
const MAX_WAIT_SECONDS = 10;

/** Number of requests that wait for a retry because the service was busy. */
export const waiting = signal(0);

/**
 * Sends a request, and retries it after the `Retry-After` time in a 429 or 503 response.
 *
 * @throws the error from `send`, or the reason in `abort`
 */
export async function withRetries(
  send: () => Promise<Response>,
  abort: AbortSignal | undefined,
): Promise<Response> {
  for (let retries = 0; ; retries++) {
    const response = await send();
    const seconds = secondsToWait(response);
    if (seconds === null || retries === RETRIES) return response;
    // The browser reuses the connection only after the response was read or canceled.
    await response.body?.cancel();
    waiting.value++;
    try {
      await delay(seconds * 1000, abort);
    } finally {
      waiting.value--;
    }
  }
}

/** Returns the seconds until a retry, or null if the request should not be retried. */
function secondsToWait({ status, headers }: Response): number | null {
  if (status !== 503 && status !== 429) return null;
  const given = headers.get('retry-after');
  const seconds = given === null ? Number.NaN : Number(given);
  return seconds >= 0 && seconds <= MAX_WAIT_SECONDS ? seconds : null;
}

/** Waits. Rejects with the reason in `abort`. */
export function delay(milliseconds: number, abort: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(abort?.reason);
    };
    const timer = setTimeout(() => {
      abort?.removeEventListener('abort', stop);
      resolve();
    }, milliseconds);
    if (abort?.aborted) stop();
    else abort?.addEventListener('abort', stop, { once: true });
  });
}
