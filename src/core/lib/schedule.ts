/**
 * Runs a background task repeatedly, never concurrently with itself, until the schedule is stopped.
 *
 * @param options.firstAfterMs time until the first run starts
 * @param options.everyMs time between the end of a run and the start of the next, plus up to a tenth so that replicas
 *   that started together drift apart
 * @returns a function that stops the schedule and waits for a run in progress
 */
export function schedule(
  task: () => Promise<unknown>,
  options: { firstAfterMs: number; everyMs: number; onError: (error: unknown) => void },
): () => Promise<void> {
  const { firstAfterMs, everyMs, onError } = options;
  let stopped = false;
  let running: Promise<unknown> | undefined;
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
