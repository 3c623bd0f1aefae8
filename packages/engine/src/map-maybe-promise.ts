/** Returns `next(value)`; synchronously if `value` is not a promise, because every promise costs a microtask. */
export function mapMaybePromise<T, R>(
  value: T | Promise<T>,
  next: (value: T) => R | Promise<R>,
): R | Promise<R> {
  return value instanceof Promise ? value.then(next) : next(value);
}
