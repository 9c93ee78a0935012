import { Problem } from "./client.ts";
import { pause } from "./pause.ts";

const AT_ONCE = 4;
/** Of one item, before it is given up. */
const ATTEMPTS_MAX = 10;

/** How long to wait before the same is sent again; null: it is not. */
const waitMsOf = (error: unknown): number | null =>
  error instanceof Problem && error.code === "rate_limited" && error.retryAfterS !== null
    ? error.retryAfterS * 1_000
    : null;

/**
 * Sends each item, a few at once; what comes too fast for the API is sent again when the API says.
 * @param onEnd an item was sent, with null, or could not be, with what was thrown
 * @param signal ends it before its end, and rejects when something waits then
 */
export async function sendEach<T>(
  items: readonly T[],
  send: (item: T) => Promise<unknown>,
  onEnd: (item: T, error: unknown) => void,
  signal: AbortSignal,
): Promise<void> {
  const left = items.values();
  async function sendOne(item: T): Promise<unknown> {
    for (let attempt = 1; ; attempt++) {
      try {
        await send(item);
        return null;
      } catch (error) {
        const waitMs = waitMsOf(error);
        if (waitMs === null || attempt === ATTEMPTS_MAX) return error;
        await pause(waitMs, signal);
      }
    }
  }
  async function work(): Promise<void> {
    for (const item of left) {
      if (signal.aborted) return;
      onEnd(item, await sendOne(item));
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}
