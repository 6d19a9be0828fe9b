/**
 * Applies `next` synchronously to a value that is there, which most cached ones are, otherwise after the promise
 * resolves.
 */
export function mapMaybePromise<T, R>(
  value: T | Promise<T>,
  next: (value: T) => R | Promise<R>,
): R | Promise<R> {
  return value instanceof Promise ? value.then(next) : next(value);
}
