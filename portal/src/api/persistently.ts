import { pause } from "./pause.ts";
import { Problem } from "./problem.ts";
import { mayPass } from "./retry.ts";

const FIRST_WAIT_MS = 1_000;
const LAST_WAIT_MS = 30_000;

/** Waits between attempts, each twice as long as the one before. */
export class Waits {
  #nextMs = FIRST_WAIT_MS;

  /** @param leastMs minimum wait that the service asks for @throws the reason of `signal` */
  async wait(signal: AbortSignal, leastMs = 0): Promise<void> {
    await pause(Math.max(leastMs, this.#nextMs), signal);
    this.#nextMs = Math.min(this.#nextMs * 2, LAST_WAIT_MS);
  }
}

/**
 * Asks the API until it answers.
 * @param onLost called before each wait
 * @throws Problem that asking again does not mend
 */
export async function persistently<T>(
  call: () => Promise<T>,
  signal: AbortSignal,
  onLost: () => void,
): Promise<T> {
  const waits = new Waits();
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (signal.aborted || !(error instanceof Problem) || !mayPass(error.status)) throw error;
      onLost();
      await waits.wait(signal, (error.retryAfterS ?? 0) * 1_000);
    }
  }
}
