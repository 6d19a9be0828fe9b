/**
 * Runs a background task now and then, never twice at once, until it is stopped.
 *
 * @param options.everyMs from the end of one run to the start of the next; up to a tenth more, so that replicas
 *   that were started together drift apart
 * @returns stops it, and waits for a run that is under way.
 */
export function schedule(
  task: () => Promise<void>,
  options: { everyMs: number; onError: (error: unknown) => void },
): () => Promise<void> {
  const { everyMs, onError } = options;
  let stopped = false;
  let running: Promise<void> | undefined;
  let timer: NodeJS.Timeout;

  const wait = () => {
    timer = setTimeout(run, everyMs * (1 + Math.random() / 10)).unref();
  };
  const run = () => {
    running = task()
      .catch(onError)
      .finally(() => {
        running = undefined;
        if (!stopped) wait();
      });
  };
  wait();
  return async () => {
    stopped = true;
    clearTimeout(timer);
    await running;
  };
}
