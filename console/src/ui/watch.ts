/**
 * Looks again and again while the page is visible, and when it becomes visible. What fails is left out: it is not
 * what the person asked for.
 *
 * @returns ends it, as an effect does
 */
export function watch(
  look: (signal: AbortSignal) => Promise<void>,
  { intervalMs, now }: { intervalMs: number /** Whether to look at once. */; now: boolean },
): () => void {
  const controller = new AbortController();
  const lookIfVisible = async () => {
    if (document.hidden) return;
    try {
      await look(controller.signal);
    } catch {
      // The page says what is wrong when it reads for the person.
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
