/** Time until a request without a response counts as lost. */
const TIMEOUT_MS = 15_000;

interface WatchOptions {
  intervalMs: number;
  /** Whether to call `look` immediately. */
  now: boolean;
  /**
   * Called after each call with its error, or undefined. Without it, errors are ignored: then the next request by the
   * user reports the error.
   */
  onResult?: (error: unknown) => void;
}

/**
 * Calls `look` periodically while the page is visible, and when the page becomes visible. After an error, it goes on.
 *
 * @returns a function that stops the calls, for use as an effect's cleanup
 */
export function watch(
  look: (signal: AbortSignal) => Promise<void>,
  { intervalMs, now, onResult }: WatchOptions,
): () => void {
  const controller = new AbortController();
  let isLooking = false;
  const checkIfVisible = async () => {
    if (document.hidden || isLooking) return;
    isLooking = true;
    try {
      await look(AbortSignal.any([controller.signal, AbortSignal.timeout(TIMEOUT_MS)]));
      onResult?.(undefined);
    } catch (error) {
      if (!controller.signal.aborted) onResult?.(error);
    } finally {
      isLooking = false;
    }
  };
  if (now) void checkIfVisible();
  const timer = setInterval(checkIfVisible, intervalMs);
  document.addEventListener('visibilitychange', checkIfVisible);
  return () => {
    controller.abort();
    clearInterval(timer);
    document.removeEventListener('visibilitychange', checkIfVisible);
  };
}
