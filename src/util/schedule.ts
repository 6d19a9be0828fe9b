/**
 * Runs a background task now and then, never twice at once, until it is stopped.
 *
 * @param options.firstAfterMs from now to the start of the first run
 * @param options.everyMs from the end of one run to the start of the next; up to a tenth more, so that replicas
 *   that were started together drift apart
 * @returns stops it, and waits for a run that is under way.
 */
export function schedule(
  task: () => Promise<void>,
  options: { firstAfterMs: number; everyMs: number; onError: (error: unknown) => void },
): () => Promise<void> {
  const { firstAfterMs, everyMs, onError } = options;
  let stopped = false;
  let running: Promise<void> | undefined;
  let timer: NodeJS.Timeout;

  const wait = (ms: number) => {
    timer = setTimeout(run, ms * (1 + Math.random() / 10)).unref();
  };
  const run = () => {
    running = task()
      .catch(onError)
      .finally(() => {
        running = undefined;
        if (!stopped) wait(everyMs);
      });
  };
  wait(firstAfterMs);
  return async () => {
    stopped = true;
    clearTimeout(timer);
    await running;
  };
}
