/**
 * Runs a background task repeatedly, never concurrently with itself, until it is stopped.
 *
 * @param options.firstAfterMs from now to the start of the first run
 * @param options.everyMs from the end of one run to the start of the next; up to a tenth is added, so that replicas
 *   that started together drift apart
 * @returns a function that stops the schedule and waits for a run in progress
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
