/**
 * Makes a queue: each task runs after the one before it has ended, however it ended. The agent SDKs start all calls
 * of one turn at once; the model, which wrote them one after the other, may view in the second what it created in the
 * first.
 */
export function inOrder(): <T>(task: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (task) => {
    const next = last.then(task);
    last = next.catch(() => {});
    return next;
  };
}
