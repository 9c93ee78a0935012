/**
 * A value now or later. A cached verification is answered within the call that brought the request: no promise, no
 * turn of the event loop. Everything between the socket and the cache therefore speaks this type.
 */
export type MaybePromise<T> = T | Promise<T>;

/** Calls `next` at once with a value, or when a promise resolves. Errors of `next` pass through. */
export function andThen<T, R>(value: MaybePromise<T>, next: (value: T) => MaybePromise<R>): MaybePromise<R> {
  return value instanceof Promise ? value.then(next) : next(value);
}
