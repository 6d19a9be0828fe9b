/**
 * Calls `look` periodically while the page is visible, and when the page becomes visible. Errors are ignored, because
 * the user did not start the request.
 *
 * @returns a function that stops the calls, for use as an effect's cleanup
 */
export function watch(
  look: (signal: AbortSignal) => Promise<void>,
  { intervalMs, now }: { intervalMs: number /** Whether to call `look` immediately. */; now: boolean },
): () => void {
  const controller = new AbortController();
  const lookIfVisible = async () => {
    if (document.hidden) return;
    try {
      await look(controller.signal);
    } catch {
      // The next request of the user reports the error.
    }
  };
  if (now) void lookIfVisible();
  const timer = setInterval(lookIfVisible, intervalMs);
  document.addEventListener('visibilitychange', lookIfVisible);
  return () => {
    controller.abort();
    clearInterval(timer);
    document.removeEventListener('visibilitychange', lookIfVisible);
  };
}
