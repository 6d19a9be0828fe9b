/**
 * Returns a queue that runs each task after the previous one has ended, successfully or not. Agent SDKs start all calls
 * of a turn at once, although a later call may depend on an earlier one, such as a view of a created file.
 */
export function createSerialRunner(): <T>(task: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (task) => {
    const next = last.then(task);
    last = next.catch(() => {});
    return next;
  };
}
