/**
 * Applies `next` to a value, synchronously unless the value is a promise. Most cached values are available
 * synchronously.
 */
export function mapMaybePromise<T, R>(
  value: T | Promise<T>,
  next: (value: T) => R | Promise<R>,
): R | Promise<R> {
  return value instanceof Promise ? value.then(next) : next(value);
}
