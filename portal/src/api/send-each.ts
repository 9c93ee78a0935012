import { Problem } from "./client.ts";
import { pause } from "./pause.ts";

const AT_ONCE = 4;
/** Attempts at one request before it is given up. */
const ATTEMPTS_MAX = 10;

/** Refusals that end by themselves: too many requests, and a first attempt that the API still works on. */
const PASSING: ReadonlySet<string | null> = new Set(["rate_limited", "idempotency_in_flight"]);

/** Milliseconds until the same item may be sent again; null: it is not sent again. */
const waitMsOf = (error: unknown): number | null =>
  error instanceof Problem && PASSING.has(error.code) && error.retryAfterS !== null
    ? error.retryAfterS * 1_000
    : null;

/**
 * Sends a request. One that comes too fast for the API, or that the API still works on, is sent again when the API says.
 * @throws as `send`; the reason of `signal`
 */
export async function sendWhenAllowed<T>(send: () => Promise<T>, signal: AbortSignal): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await send();
    } catch (error) {
      const waitMs = waitMsOf(error);
      if (waitMs === null || attempt === ATTEMPTS_MAX) throw error;
      await pause(waitMs, signal);
    }
  }
}

/**
 * Sends each item, a few at once, like `sendWhenAllowed`.
 * @param onEnd called for each item with null, or with its error
 * @throws the reason of `signal`
 */
export async function sendEach<T>(
  items: readonly T[],
  send: (item: T) => Promise<unknown>,
  onEnd: (item: T, error: unknown) => void,
  signal: AbortSignal,
): Promise<void> {
  const left = items.values();
  async function work(): Promise<void> {
    for (const item of left) {
      const error = await sendWhenAllowed(() => send(item), signal).then(
        () => null,
        (thrown: unknown) => thrown,
      );
      signal.throwIfAborted();
      onEnd(item, error);
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}
