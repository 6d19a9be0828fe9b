import { signal } from '@preact/signals';

/** So often a request that only reads is sent again. */
const RETRIES = 2;
const MAX_WAIT_SECONDS = 10;

/** How many requests wait to be sent again, because the service was busy. */
export const waiting = signal(0);

/**
 * Sends a request, and again after a while when the service is busy and says for how long.
 *
 * @throws what `send` throws, or the reason of `abort`
 */
export async function withRetries(
  send: () => Promise<Response>,
  abort: AbortSignal | undefined,
): Promise<Response> {
  for (let retries = 0; ; retries++) {
    const response = await send();
    const seconds = secondsToWait(response);
    if (seconds === null || retries === RETRIES) return response;
    // The connection is not free before its response is read.
    await response.body?.cancel();
    waiting.value++;
    try {
      await delay(seconds * 1000, abort);
    } finally {
      waiting.value--;
    }
  }
}

/** Null when there is nothing to wait for. */
function secondsToWait({ status, headers }: Response): number | null {
  if (status !== 503 && status !== 429) return null;
  const given = headers.get('retry-after');
  const seconds = given === null ? Number.NaN : Number(given);
  return seconds >= 0 && seconds <= MAX_WAIT_SECONDS ? seconds : null;
}

function delay(milliseconds: number, abort: AbortSignal | undefined): Promise<void> {
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
